package job

import "slices"

// DependencyKind is the event of another job that a dependency waits for.
type DependencyKind string

// The kinds, named after the options.
const (
	AfterStart DependencyKind = "after"      // the other job has started
	AfterOK    DependencyKind = "after-ok"   // it has completed
	AfterFail  DependencyKind = "after-fail" // it has ended in another way
	AfterAny   DependencyKind = "after-any"  // it has ended
)

var dependencyKinds = []DependencyKind{AfterStart, AfterOK, AfterFail, AfterAny}

// Dependency makes a job wait for another.
type Dependency struct {
	Kind DependencyKind `json:"kind"`
	Job  ID             `json:"job"`
}

// Verdict is the meaning of the other job's state for a dependency.
type Verdict int

// The verdicts.
const (
	Unmet Verdict = iota // not yet
	Met
	Impossible // it can't be met any more
)

// Judge returns the verdict for the other job's state. Started says whether that job has ever run,
// which the state of a requeued job does not show.
func (d Dependency) Judge(state State, started bool) Verdict {
	switch {
	case d.Kind == AfterStart && (started || state == Running):
		return Met
	case !state.Terminal():
		return Unmet
	case d.Kind == AfterAny, d.Kind == AfterOK && state == Completed, d.Kind == AfterFail && state != Completed:
		return Met
	}
	return Impossible
}

// MaxDependencies bounds the dependencies of one job.
const MaxDependencies = 1000

// MaxOpenDependencies bounds the unmet dependencies of all waiting jobs of one person: when a job
// ends, all dependencies on it are searched.
const MaxOpenDependencies = 100_000

func checkDependencies(list []Dependency, p *Problems) {
	if len(list) > MaxDependencies {
		p.add("usage/dependencies", len(list), MaxDependencies)
	}
	for _, d := range list {
		if !slices.Contains(dependencyKinds, d.Kind) || d.Job < 1 {
			p.add("usage/dependency", dependencyKinds)
			return
		}
	}
}

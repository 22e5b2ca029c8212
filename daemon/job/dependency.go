package job

import "slices"

// DependencyKind says which event of another job a dependency waits for.
type DependencyKind string

// The kinds, each with the name of its option.
const (
	AfterStart DependencyKind = "after"      // the other job has started
	AfterOK    DependencyKind = "after-ok"   // the other job has completed
	AfterFail  DependencyKind = "after-fail" // the other job has ended, but not completed
	AfterAny   DependencyKind = "after-any"  // the other job has ended in any way
)

var dependencyKinds = []DependencyKind{AfterStart, AfterOK, AfterFail, AfterAny}

// Dependency makes a job wait for another job.
type Dependency struct {
	Kind DependencyKind `json:"kind"`
	Job  ID             `json:"job"`
}

// Verdict says what the other job's state means for a dependency.
type Verdict int

// The verdicts.
const (
	Unmet Verdict = iota // the dependency is not met yet
	Met
	Impossible // the dependency can't be met any more
)

// Judge returns the verdict for the other job's state. The argument started says whether that job
// has ever run, which the state of a requeued job does not show.
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

// MaxDependencies is the largest number of dependencies of one job.
const MaxDependencies = 1000

// MaxOpenDependencies is the largest number of unmet dependencies of all waiting jobs of one
// person. There must be a bound, because the scheduler searches all dependencies on a job when the
// job ends.
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

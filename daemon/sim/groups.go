package sim

import (
	"cmp"
	"slices"
	"time"
)

// A Group has the figures of some of a run's jobs: the jobs of one user, or those with the same
// number of GPUs. Times are in seconds. The JSON names are stable within a schema.
type Group struct {
	User string  `json:"user,omitempty"`
	GPUs float64 `json:"gpus,omitempty"` // number of GPUs that each job requests

	Jobs           int     `json:"jobs"`
	GPUTime        float64 `json:"gpu_s"` // GPU-seconds that the jobs held
	MeanWait       float64 `json:"mean_wait_s"`
	MeanCompletion float64 `json:"mean_completion_s"`
	Slowdown       float64 `json:"bounded_slowdown"`
	Preemptions    float64 `json:"preemptions"`
}

// add adds a job. Until finish is called, the means are sums.
func (g *Group) add(j *JobOutcome) {
	g.Jobs++
	g.GPUTime += j.gpuTime(Span{To: j.End})
	g.MeanWait += j.Wait.Seconds()
	g.MeanCompletion += j.Completion().Seconds()
	g.Slowdown += j.slowdown()
	g.Preemptions += float64(j.Preemptions)
}

// finish turns sums into means over the jobs, and counts into means over the runs.
func (g *Group) finish(runs int) {
	jobs := float64(g.Jobs)
	g.MeanWait /= jobs
	g.MeanCompletion /= jobs
	g.Slowdown /= jobs
	g.GPUTime /= float64(runs)
	g.Preemptions /= float64(runs)
	g.Jobs = (g.Jobs + runs - 1) / runs
}

// Users returns the figures by user, ordered by name, as means over several runs.
func Users(runs ...*Outcome) []Group {
	list := groupJobs(runs, func(j *JobOutcome) Group { return Group{User: j.User} })
	slices.SortFunc(list, func(a, b Group) int { return cmp.Compare(a.User, b.User) })
	return list
}

// Sizes returns the figures by number of GPUs, smallest first, as means over several runs.
func Sizes(runs ...*Outcome) []Group {
	list := groupJobs(runs, func(j *JobOutcome) Group { return Group{GPUs: float64(j.GPUMilli) / 1000} })
	slices.SortFunc(list, func(a, b Group) int { return cmp.Compare(a.GPUs, b.GPUs) })
	return list
}

// groupJobs adds up the jobs of each group. The argument groupOf returns the group of a job.
func groupJobs(runs []*Outcome, groupOf func(*JobOutcome) Group) []Group {
	at := map[Group]int{}
	var list []Group
	for _, run := range runs {
		for i := range run.Jobs {
			key := groupOf(&run.Jobs[i])
			k, known := at[key]
			if !known {
				k = len(list)
				at[key] = k
				list = append(list, key)
			}
			list[k].add(&run.Jobs[i])
		}
	}
	for i := range list {
		list[i].finish(len(runs))
	}
	return list
}

// gpuTime returns the GPU-seconds that the job held within a span.
func (j *JobOutcome) gpuTime(in Span) float64 {
	sum := time.Duration(0)
	for _, h := range j.Held {
		sum += h.overlap(in)
	}
	return sum.Seconds() * float64(j.GPUMilli) / 1000
}

// slowdown returns the bounded slowdown of the job.
func (j *JobOutcome) slowdown() float64 {
	return max(1, j.Completion().Seconds()/max(j.Run, shortRun).Seconds())
}

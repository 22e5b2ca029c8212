package foresight

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
)

// Runs is what is known about the runs of a job's command: runs of this job, and of others with the
// same command.
type Runs struct {
	Most     predict.Most  // the longest run time and the most memory of any run
	Enough   bool          // enough runs have ended to show what the command needs
	Expected time.Duration // the job's expected run time
}

// listChanges returns changes that may make a waiting job start sooner. Those that cost the job's
// owner least come first. Each change asks for less, or makes the job preemptible.
func listChanges(r *job.Request, runs Runs) (list []trialChange) {
	add := func(more ...job.Sooner) {
		for i := range more {
			list = append(list, trialChange{sooner: more[i]})
		}
	}
	add(listChoices(r)...)
	if runs.Enough {
		add(memoryChanges(r, runs.Most)...)
	}
	list = append(list, timeChanges(r, runs)...)
	for _, milli := range fewerGPUs(r) {
		add(job.Sooner{Change: job.Change{GPUMilli: &milli}})
	}
	if n := r.CPUs / 2; n > 0 {
		add(job.Sooner{Change: job.Change{CPUs: &n}})
	}
	if r.GPUMilli > 0 && !r.Preemptible {
		yes := true
		add(job.Sooner{Change: job.Change{Preemptible: &yes}})
	}
	return list
}

// listChoices returns the changes that let the scheduler choose the GPUs.
func listChoices(r *job.Request) (list []job.Sooner) {
	ask := job.AnyOf{
		GPUs: len(r.GPUIDs)+len(r.GPUsFrom)+len(r.ExcludeGPUs) > 0, Type: r.GPUType != "",
		Load: r.MaxLoadPercent+r.MaxUsedPercent > 0,
	}
	for _, one := range []job.AnyOf{{GPUs: ask.GPUs}, {Type: ask.Type}, {Load: ask.Load}} {
		if one != (job.AnyOf{}) {
			list = append(list, job.Sooner{Any: one})
		}
	}
	if ask.GPUs && ask.Type {
		list = append(list, job.Sooner{Any: job.AnyOf{GPUs: true, Type: true}})
	}
	return list
}

// memoryChanges returns changes that ask for less memory: what earlier runs of the command took,
// plus a tenth. They never ask for less than earlier runs took, since a job that gets too little
// fails. Stating the needed GPU memory may help too, since such a job may share its GPUs with
// foreign processes.
func memoryChanges(r *job.Request, most predict.Most) (list []job.Sooner) {
	known := withReserve(most.GPUMem)
	if r.GPUMilli > 0 && known > 0 && (r.GPUMemBytes == 0 && r.Alone() || known < r.GPUMemBytes) {
		list = append(list, job.Sooner{Change: job.Change{GPUMemBytes: &known}})
	}
	if n := withReserve(most.HostMem); n > 0 && n < r.MemBytes {
		list = append(list, job.Sooner{Change: job.Change{MemBytes: &n}})
	}
	return list
}

// withReserve returns an amount of memory plus a tenth. Results of one GiB and more are rounded up
// to whole GiB.
func withReserve(most int64) int64 {
	const unit = 1 << 30
	n := most + most/10
	if n < unit {
		return n
	}
	return (n + unit - 1) / unit * unit
}

// leastGap is the shortest time limit that is suggested while nobody knows how long the command
// needs, because too few of its runs have ended.
const leastGap = 5 * time.Minute

// timeChanges returns changes that ask for a shorter time limit. Each suggested limit is longer
// than any run of the command so far. One change asks for the longest limit with which the job
// starts at once. If enough runs are known, another asks for twice the job's expected run time.
func timeChanges(r *job.Request, runs Runs) (list []trialChange) {
	longest, limit := runs.Most.Run, r.TimeLimit.Duration()
	least := longest.Truncate(time.Minute) + time.Minute
	if !runs.Enough {
		least = max(least, leastGap)
	}
	learned := roundUp(max(2*runs.Expected, longest+longest/10))
	add := func(d time.Duration, gap bool) {
		if limit == 0 || d < limit {
			span := job.Span(d)
			list = append(list, trialChange{sooner: job.Sooner{Change: job.Change{TimeLimit: &span}}, gap: gap})
		}
	}
	if add(least, true); runs.Enough {
		add(learned, false)
	}
	return list
}

// roundUp rounds a time up to a value that people would choose.
func roundUp(d time.Duration) time.Duration {
	for _, unit := range []time.Duration{24 * time.Hour, time.Hour, 10 * time.Minute} {
		if d >= 3*unit {
			return (d + unit - 1) / unit * unit
		}
	}
	return (d + time.Minute - 1) / time.Minute * time.Minute
}

// fewerGPUs returns half of the GPUs, a quarter and so on down to one GPU, and half a GPU for a job
// that asks for one.
func fewerGPUs(r *job.Request) (list []int) {
	if r.Part() > 0 && r.Whole() > 0 {
		list = append(list, r.Whole()*job.WholeGPU)
	}
	for n := r.Whole() / 2; n > 0 && len(r.GPUIDs) == 0; n /= 2 {
		list = append(list, n*job.WholeGPU)
	}
	if r.GPUMilli == job.WholeGPU {
		list = append(list, job.WholeGPU/2)
	}
	return list
}

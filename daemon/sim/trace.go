package sim

import (
	"slices"
	"time"
)

// A Job is one job of a trace, with its request and its real run time.
type Job struct {
	Submit      time.Duration // time since the trace's Begin
	Run         time.Duration // run time, above 0
	GPUMilli    int           // 1000 is one GPU
	GPUMemBytes int64         // per GPU; 0: none
	User        string
	Kind        string        // the same for all runs of one program; "" if unknown
	Limit       time.Duration // time limit; 0: none
	Batch       string        // name of a batch of the user; "": none
}

// work returns the job's GPU time in milli-GPU microseconds. An int64 can hold centuries in this
// unit.
func (j *Job) work() int64 { return j.Run.Microseconds() * int64(j.GPUMilli) }

// A Trace is a list of jobs in order of submission.
type Trace struct {
	Begin   time.Time // the midnight before the first job
	Jobs    []Job
	Dropped int // number of jobs left out because they request more than the machine has
	Skipped int // number of jobs of the file that have no GPU or never ran
	Shares  Shares
	GPUs    int // number of GPUs of the machine that the file is about; 0: not given
}

// tick is the resolution of the virtual clock.
const tick = time.Microsecond

// newTrace returns a trace with these jobs in order of submission. The field Submit counts from the
// argument origin in these jobs, and from the midnight before the first job in the trace.
func newTrace(origin time.Time, jobs []Job) Trace {
	slices.SortStableFunc(jobs, func(a, b Job) int { return int(a.Submit - b.Submit) })
	t := Trace{Begin: origin.UTC().Truncate(day), Jobs: jobs}
	if len(jobs) > 0 {
		t.Begin = origin.UTC().Add(jobs[0].Submit).Truncate(day)
	}
	shift := origin.Sub(t.Begin)
	for i := range jobs {
		j := &jobs[i]
		j.Submit = (j.Submit + shift).Truncate(tick)
		j.Run = max(j.Run.Truncate(tick), time.Second)
		if j.Limit > 0 {
			j.Limit = max(j.Limit, j.Run)
		}
	}
	return t
}

// Gather turns processors into GPUs: each GPU replaces the given number of processors. A job gets
// as many GPUs as its processors need.
func (t Trace) Gather(processors int) Trace {
	t.Jobs = slices.Clone(t.Jobs)
	for i := range t.Jobs {
		j := &t.Jobs[i]
		j.GPUMilli = (j.GPUMilli/1000 + processors - 1) / processors * 1000
	}
	t.GPUs /= processors
	return t
}

const day = 24 * time.Hour

// Window returns the jobs that are submitted from a date on, within a number of days. 0 days means
// all later jobs.
func (t Trace) Window(from time.Time, days int) Trace {
	if from.IsZero() {
		from = t.Begin
	}
	var jobs []Job
	for _, j := range t.Jobs {
		at := t.Begin.Add(j.Submit)
		if !at.Before(from) && (days == 0 || at.Before(from.AddDate(0, 0, days))) {
			j.Submit = at.Sub(from)
			jobs = append(jobs, j)
		}
	}
	return newTrace(from, jobs)
}

// Fit drops the jobs that a machine with these GPUs and this memory can never run.
func (t Trace) Fit(gpus int, memBytes int64) Trace {
	all := len(t.Jobs)
	t.Jobs = slices.DeleteFunc(slices.Clone(t.Jobs), func(j Job) bool {
		return j.GPUMilli > gpus*1000 || j.GPUMemBytes > memBytes
	})
	t.Dropped += all - len(t.Jobs)
	return t
}

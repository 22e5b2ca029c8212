package sim

import (
	"slices"
	"time"
)

// Job is one job of a trace: what it asks, and how long it really runs.
type Job struct {
	Submit      time.Duration // since the trace's Begin
	Run         time.Duration // above 0
	GPUMilli    int           // 1000 is one GPU
	GPUMemBytes int64         // per GPU; 0: nothing said
	User        string
	Kind        string        // what it runs, the same for runs of the same thing; "" unknown
	Limit       time.Duration // 0: none
	Batch       string        // of the user's jobs, all of which are to end soon; "": none
}

// work is the job's GPU time in milli-GPU microseconds, which are integers and
// have room for centuries.
func (j *Job) work() int64 { return j.Run.Microseconds() * int64(j.GPUMilli) }

// Trace is jobs in the order of their submission.
type Trace struct {
	Begin   time.Time // midnight before the first job
	Jobs    []Job
	Dropped int // jobs that were left out because they ask more than the machine has
	Skipped int // jobs of the file that have no GPU or never ran
	Shares  Shares
	GPUs    int // of the machine that the file is of, where it says so; 0: it does not
}

// tick is the resolution of the virtual clock.
const tick = time.Microsecond

// newTrace puts jobs in order. Their Submit counts from begin, and is made to
// count from the midnight before the first.
func newTrace(begin time.Time, jobs []Job) Trace {
	slices.SortStableFunc(jobs, func(a, b Job) int { return int(a.Submit - b.Submit) })
	t := Trace{Begin: begin.UTC().Truncate(day), Jobs: jobs}
	if len(jobs) > 0 {
		t.Begin = begin.UTC().Add(jobs[0].Submit).Truncate(day)
	}
	shift := begin.Sub(t.Begin)
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

// Gather makes one GPU of so many processors of a log that counts processors; a
// job gets as many GPUs as it needs for its processors.
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

// Window returns the jobs submitted in the given days from a date on. Zero
// days is all that follow.
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

// Fit leaves out the jobs that a machine of so many GPUs with so much memory
// each can never serve.
func (t Trace) Fit(gpus int, memBytes int64) Trace {
	all := len(t.Jobs)
	t.Jobs = slices.DeleteFunc(slices.Clone(t.Jobs), func(j Job) bool {
		return j.GPUMilli > gpus*1000 || j.GPUMemBytes > memBytes
	})
	t.Dropped += all - len(t.Jobs)
	return t
}

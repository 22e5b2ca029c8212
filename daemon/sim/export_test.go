package sim

import "time"

// BatchBound returns the shortest makespan that any scheduler can reach for jobs that can all start
// at once. It is the maximum of three bounds: the longest job; all work divided by all GPUs; and
// the time of the wide jobs, which can't all run side by side. Jobs on more than half of the GPUs
// run one after the other, and jobs on exactly half of the GPUs run two at a time.
func BatchBound(jobs []Job, gpus int) time.Duration {
	longest, work, wide, half := time.Duration(0), int64(0), time.Duration(0), time.Duration(0)
	for i := range jobs {
		j := &jobs[i]
		longest, work = max(longest, j.Run), work+j.work()
		switch n := 2 * j.GPUMilli; {
		case n > gpus*1000:
			wide += j.Run
		case n == gpus*1000:
			half += j.Run
		}
	}
	return max(longest, dividedByAll(work, gpus), wide+half/2)
}

// GPUTime returns the GPU-seconds that a user's jobs held within a span, and the GPU-seconds that
// all jobs held. The span counts from the trace's Begin.
func (o *Outcome) GPUTime(user string, in Span) (own, all float64) {
	for i := range o.Jobs {
		held := o.Jobs[i].gpuTime(in)
		all += held
		if o.Jobs[i].User == user {
			own += held
		}
	}
	return own, all
}

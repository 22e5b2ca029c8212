package sim

import "time"

// lowerBounds returns the shortest makespan and the shortest mean completion time that any
// scheduler can reach on a machine with this many GPUs. The jobs are in order of submission. The
// makespan is the time from the first submission to the last end.
func lowerBounds(jobs []Job, gpus int) (makespan, meanCompletion time.Duration) {
	return makespanBound(jobs, gpus), max(meanRun(jobs), fluidMean(jobs, gpus))
}

// makespanBound uses two facts. First, no job ends before its submission plus its run time. Second,
// the jobs that are submitted after an instant are not done sooner than if all GPUs shared their
// work from that instant.
func makespanBound(jobs []Job, gpus int) time.Duration {
	bound, work := time.Duration(0), int64(0)
	for i := len(jobs) - 1; i >= 0; i-- {
		work += jobs[i].work()
		bound = max(bound, jobs[i].Submit+jobs[i].Run, jobs[i].Submit+dividedByAll(work, gpus))
	}
	return bound - jobs[0].Submit
}

// dividedByAll returns the time that work takes if all GPUs share it.
func dividedByAll(work int64, gpus int) time.Duration {
	return time.Duration(work/(int64(gpus)*1000)) * time.Microsecond
}

func meanRun(jobs []Job) time.Duration {
	sum := time.Duration(0)
	for i := range jobs {
		sum += jobs[i].Run
	}
	return sum / time.Duration(len(jobs))
}

// fluidMean returns the mean completion time on one machine that is as fast as all GPUs together.
// Any job can use all of it, and the job with the shortest remaining time runs first.
func fluidMean(jobs []Job, gpus int) time.Duration {
	var open queue[drop]
	now, sum := time.Duration(0), time.Duration(0)
	serve := func(until time.Duration, end bool) {
		for len(open) > 0 && (end || now < until) {
			first := &open[0]
			if !end && now+first.left > until {
				first.left -= until - now
				break
			}
			now += first.left
			sum += now - first.submit
			open.pop()
		}
		now = max(now, until)
	}
	for i := range jobs {
		serve(jobs[i].Submit, false)
		open.push(drop{left: dividedByAll(jobs[i].work(), gpus), submit: jobs[i].Submit})
	}
	serve(0, true)
	return sum / time.Duration(len(jobs))
}

// A drop is the remaining work of a job. fluidMean treats work like a fluid.
type drop struct{ left, submit time.Duration }

func (d drop) before(o drop) bool { return d.left < o.left }

package sim

import "time"

// lowerBounds computes what no scheduler can beat on a machine of so many GPUs,
// whatever it knows, for jobs in the order of submission. The makespan is from the
// first submission to the last end.
func lowerBounds(jobs []Job, gpus int) (makespan, meanCompletion time.Duration) {
	return makespanBound(jobs, gpus), max(meanRun(jobs), fluidMean(jobs, gpus))
}

// makespanBound: no job ends before its submission and run time; what is
// submitted from some instant on takes at least its work on all GPUs.
func makespanBound(jobs []Job, gpus int) time.Duration {
	bound, work := time.Duration(0), int64(0)
	for i := len(jobs) - 1; i >= 0; i-- {
		work += jobs[i].work()
		bound = max(bound, jobs[i].Submit+jobs[i].Run, jobs[i].Submit+onAll(work, gpus))
	}
	return bound - jobs[0].Submit
}

// BatchBound is what no scheduler can beat for jobs that can all start at once: the
// longest; all work spread over all GPUs; and one after the other those of which two do
// not fit side by side, each of more than half of the GPUs, with as many of exactly half
// as that is worth, two at a time.
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
	return max(longest, onAll(work, gpus), wide+half/2)
}

// onAll is how long work takes that is spread evenly over all GPUs.
func onAll(work int64, gpus int) time.Duration {
	return time.Duration(work/(int64(gpus)*1000)) * time.Microsecond
}

func meanRun(jobs []Job) time.Duration {
	sum := time.Duration(0)
	for i := range jobs {
		sum += jobs[i].Run
	}
	return sum / time.Duration(len(jobs))
}

// fluidMean is the mean completion time of the shortest remaining job first on
// one machine as fast as all GPUs together, to which any job can be spread.
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
		open.push(drop{left: onAll(jobs[i].work(), gpus), submit: jobs[i].Submit})
	}
	serve(0, true)
	return sum / time.Duration(len(jobs))
}

// drop is a job's work that is left.
type drop struct{ left, submit time.Duration }

func (d drop) before(o drop) bool { return d.left < o.left }

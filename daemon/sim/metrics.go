package sim

import (
	"fmt"
	"reflect"
	"slices"
	"time"
)

// Metrics are the figures of one run. Times are in seconds. The JSON names are stable within a
// schema.
type Metrics struct {
	Jobs int `json:"jobs"`

	MeanCompletion float64 `json:"mean_completion_s"`
	P50Completion  float64 `json:"p50_completion_s"`
	P99Completion  float64 `json:"p99_completion_s"`
	MeanWait       float64 `json:"mean_wait_s"`
	P50Wait        float64 `json:"p50_wait_s"`
	P99Wait        float64 `json:"p99_wait_s"`
	MaxWait        float64 `json:"max_wait_s"`
	Slowdown       float64 `json:"bounded_slowdown"`  // mean of max(1, completion / max(run, 60 s))
	FullNodeWait   float64 `json:"full_node_wait_s"`  // mean wait of jobs that need all GPUs; 0 if there are none
	FullNodeJobs   float64 `json:"full_node_jobs"`    // number of jobs that need all GPUs
	Jain           float64 `json:"jain_users"`        // Jain's index of the users' mean bounded slowdowns: 1 is even, 1/users is the worst
	Utilisation    float64 `json:"utilisation"`       // share of the GPU time in use until the last submission
	IdleQueued     float64 `json:"idle_while_queued"` // share of the GPU time unused while a job waited
	Makespan       float64 `json:"makespan_s"`        // from the first submission to the last end
	Preemptions    float64 `json:"preemptions"`
	InVain         float64 `json:"preemptions_in_vain"`  // see stopsInVain
	LostGPU        float64 `json:"lost_gpu_s"`           // GPU-seconds spent on continuing after stops, or on starting over
	MakespanUse    float64 `json:"utilisation_makespan"` // share of the GPU time in use during the makespan

	MakespanBound   float64 `json:"makespan_lower_bound_s"`
	CompletionBound float64 `json:"mean_completion_lower_bound_s"`
}

// shortRun is the shortest run time that is used to compute the slowdown of a job. Shorter runs
// count as this long.
const shortRun = time.Minute

func (e *engine) measure(jobs []JobOutcome) Metrics {
	if len(jobs) == 0 {
		return Metrics{}
	}
	makespan, completion := lowerBounds(e.jobs, e.opt.GPUs)
	m := Metrics{
		Jobs: len(jobs), Makespan: (e.ledger.last - e.ledger.first).Seconds(),
		MakespanBound: makespan.Seconds(), CompletionBound: completion.Seconds(),
	}
	completions, waits := make([]float64, 0, len(jobs)), make([]float64, 0, len(jobs))
	perUser := map[string][]float64{}
	for i := range jobs {
		j := &jobs[i]
		completions, waits = append(completions, j.Completion().Seconds()), append(waits, j.Wait.Seconds())
		slow := j.slowdown()
		m.Slowdown += slow / float64(len(jobs))
		perUser[j.User] = append(perUser[j.User], slow)
		m.Preemptions += float64(j.Preemptions)
		m.LostGPU += e.ledger.entries[i].extra.Seconds() * float64(j.GPUMilli) / 1000
		if j.GPUMilli == e.opt.GPUs*1000 {
			m.FullNodeJobs++
			m.FullNodeWait += j.Wait.Seconds()
		}
	}
	if m.FullNodeJobs > 0 {
		m.FullNodeWait /= m.FullNodeJobs
	}
	m.MeanCompletion, m.P50Completion, m.P99Completion = summarize(completions)
	m.MeanWait, m.P50Wait, m.P99Wait = summarize(waits)
	m.MaxWait = slices.Max(waits)
	m.Jain = jain(perUser)
	all := float64(e.opt.GPUs) * 1000 * m.Makespan * 1e6
	m.MakespanUse, m.IdleQueued = float64(e.ledger.used)/all, float64(e.ledger.idle)/all
	m.Utilisation, m.InVain = m.MakespanUse, float64(stopsInVain(jobs))
	if open := e.jobs[len(e.jobs)-1].Submit - e.ledger.first; open > 0 { // otherwise all jobs were submitted at once
		m.Utilisation = float64(e.ledger.usedOpen) / (float64(e.opt.GPUs) * 1000 * float64(open.Microseconds()))
	}
	return m
}

// stopsInVain counts the stops that were of no use: the job for which they were made started more
// than a minute after the last of the jobs that were stopped for it had left.
func stopsInVain(jobs []JobOutcome) (n int) {
	type start struct {
		job int
		at  time.Duration
	}
	type made struct {
		stops int
		left  time.Duration
	}
	all := map[start]made{}
	for i := range jobs {
		for _, r := range jobs[i].Room {
			s := start{r.For, 0}
			if k := slices.IndexFunc(jobs[r.For].Held, func(h Span) bool { return h.From >= r.At }); k >= 0 {
				s.at = jobs[r.For].Held[k].From
			}
			k := slices.IndexFunc(jobs[i].Held, func(h Span) bool { return h.To >= r.At })
			all[s] = made{all[s].stops + 1, max(all[s].left, jobs[i].Held[k].To)}
		}
	}
	for s, m := range all {
		if s.at > m.left+time.Minute {
			n += m.stops
		}
	}
	return n
}

// summarize returns the mean, the median and the 99th percentile. It sorts the list.
func summarize(list []float64) (mean, p50, p99 float64) {
	slices.Sort(list)
	for _, v := range list {
		mean += v / float64(len(list))
	}
	return mean, nearestRank(list, 50), nearestRank(list, 99)
}

// nearestRank returns a percentile of a sorted list by the nearest-rank method.
func nearestRank(sorted []float64, percent int) float64 {
	return sorted[max(0, (len(sorted)*percent+99)/100-1)]
}

// jain returns Jain's index of the means of several lists.
func jain(lists map[string][]float64) float64 {
	var means []float64
	for _, list := range lists {
		mean, _, _ := summarize(list)
		means = append(means, mean)
	}
	slices.Sort(means) // so that the sum does not depend on the order of a map
	sum, squares := 0.0, 0.0
	for _, v := range means {
		sum += v
		squares += v * v
	}
	return sum * sum / (float64(len(means)) * squares)
}

// checkPlausible checks invariant 6. It allows for rounding errors.
func (m *Metrics) checkPlausible() error {
	const slack = 1e-3
	switch {
	case m.Makespan < m.MakespanBound-slack:
		return fmt.Errorf("the makespan %.0f s is below its lower bound %.0f s", m.Makespan, m.MakespanBound)
	case m.MeanCompletion < m.CompletionBound-slack:
		return fmt.Errorf("the mean completion %.0f s is below its lower bound %.0f s", m.MeanCompletion, m.CompletionBound)
	case max(m.Utilisation, m.MakespanUse) > 1+1e-9:
		return fmt.Errorf("the utilisation is %.4f, over the makespan %.4f", m.Utilisation, m.MakespanUse)
	}
	return nil
}

// Mean returns the mean figures of several runs.
func Mean(runs []*Outcome) Metrics {
	var mean Metrics
	n := float64(len(runs))
	for _, run := range runs {
		to := figures(&mean)
		for k, from := range figures(&run.Metrics) {
			*to[k] += *from / n
		}
		mean.Jobs += run.Metrics.Jobs
	}
	mean.Jobs /= max(len(runs), 1)
	return mean
}

// figures returns pointers to all figures of a struct except counts.
func figures(of any) (list []*float64) {
	for _, f := range reflect.ValueOf(of).Elem().Fields() {
		if p, ok := f.Addr().Interface().(*float64); ok {
			list = append(list, p)
		}
	}
	return list
}

package report

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// A Row sums up runs within the row's period. If a run crosses an edge of the period, only the part
// inside counts. A start or an end counts if it is inside.
type Row struct {
	Keys []string

	Jobs  int // jobs that had resources in the period, or ended in it
	Ended map[job.State]int

	GPUSeconds    float64 // a part of a GPU counts as that fraction
	GPUMemSeconds float64 // bytes that processes used, multiplied by seconds
	GPUMemKnown   float64 // GPU-seconds for which GPUMemSeconds is known
	MemSeconds    float64 // bytes of requested host memory, multiplied by seconds
	Joules        float64
	JoulesKnown   float64 // GPU-seconds for which Joules is known
	PeakBusy      int     // percent; valid if BusyKnown
	BusyKnown     bool
	PeakBytes     int64 // maximum over all jobs on one GPU; 0: unknown

	Waits, Runs []float64 // seconds, of runs that started or ended in the period
	Efficiency

	several map[job.ID]bool // jobs that may have other runs
}

// begin returns the time at which a run got its resources. If the job never ran, it returns the
// job's end.
func begin(r *job.Run) time.Time {
	if r.Attempt.PlacedAt.IsZero() {
		return r.Attempt.EndedAt
	}
	return r.Attempt.PlacedAt
}

// period returns the period in which a run had its resources. The period never ends before it
// begins (invariant 3).
func period(r *job.Run, now time.Time) (from, to time.Time) {
	from, to = begin(r), r.Attempt.Until(now)
	if to.Before(from) {
		to = from
	}
	return from, to
}

func (s span) has(at time.Time) bool { return !at.IsZero() && !at.Before(s.from) && at.Before(s.to) }

// touches reports whether any part of a run is in the span.
func (s span) touches(r *job.Run, now time.Time) bool {
	from, to := period(r, now)
	if s.has(from) || s.has(to) || s.has(r.Attempt.EndedAt) {
		return true
	}
	return from.Before(s.from) && to.After(s.from)
}

// overlap returns how many seconds of a run are in the span, and what fraction of the run that is
// (invariant 1).
func (s span) overlap(r *job.Run, now time.Time) (seconds, part float64) {
	from, to := period(r, now)
	whole := to.Sub(from).Seconds()
	if whole <= 0 {
		if s.has(from) {
			part = 1
		}
		return 0, part
	}
	if from.Before(s.from) {
		from = s.from
	}
	if to.After(s.to) {
		to = s.to
	}
	seconds = max(0, to.Sub(from).Seconds())
	return seconds, seconds / whole
}

// add adds the part of a run that is in the span. The argument gpu is the GPU of the row, or nil
// for all GPUs.
func (w *Row) add(r *job.Run, s span, gpu *job.Allocation, now time.Time) {
	a := &r.Attempt
	w.countJob(r)
	if r.End != "" && s.has(a.EndedAt) {
		if w.Ended == nil {
			w.Ended = map[job.State]int{}
		}
		w.Ended[r.End]++
	}
	if a.Number == 0 {
		return
	}
	if waited, ok := a.Waited(); ok && s.has(a.PlacedAt) {
		w.Waits = append(w.Waits, waited.Seconds())
	}
	if !a.StartedAt.IsZero() && s.has(a.EndedAt) {
		w.Runs = append(w.Runs, a.Ran(now).Seconds())
	}
	seconds, part := s.overlap(r, now)
	share := 1.0
	if all := a.Milli(); gpu != nil && all > 0 {
		share = float64(gpu.Share()) / float64(all)
	}
	w.MemSeconds += float64(r.Mem) * seconds * share
	w.addHost(r, a.Ran(now), part*share, seconds*share)
	for i := range a.GPUs {
		if g := &a.GPUs[i]; gpu == nil || gpu == g {
			w.addUse(g, r, part, seconds, a.Ran(now).Seconds())
		}
	}
}

// countJob counts the job of a run, but only once if the job has several runs. A job that ended
// with its first attempt had only this run.
func (w *Row) countJob(r *job.Run) {
	if r.End == "" || r.Attempt.Number > 1 {
		if w.several[r.Job] {
			return
		}
		if w.several == nil {
			w.several = map[job.ID]bool{}
		}
		w.several[r.Job] = true
	}
	w.Jobs++
}

// values returns the number of values that the row keeps. Each takes 8 bytes.
func (w *Row) values() int { return len(w.Waits) + len(w.Runs) + mapEntry*len(w.several) }

// mapEntry is the size of a map entry, divided by the size of a value.
const mapEntry = 5

// addUse adds one GPU of a run.
func (w *Row) addUse(g *job.Allocation, r *job.Run, part, seconds, ran float64) {
	held := seconds * float64(g.Share()) / job.WholeGPU
	w.GPUSeconds += held
	if mean := g.Use.MeanBytes(); mean >= 0 {
		w.GPUMemSeconds += float64(mean) * seconds
		w.GPUMemKnown += held
	}
	if joules := g.Use.Joules(); joules >= 0 {
		w.Joules += joules * part
		if ran > 0 { // the energy was measured only for a part of the time
			w.JoulesKnown += held * min(1, g.Use.Metered.Seconds()/ran)
		}
	}
	if busy := g.Use.PeakPercent(); busy >= 0 {
		w.PeakBusy, w.BusyKnown = max(w.PeakBusy, busy), true
	}
	w.PeakBytes = max(w.PeakBytes, g.Use.PeakBytes)
	w.addGPU(g, r, part, seconds)
}

// TimesOf sums up a list, which it sorts. It returns nil for an empty list (invariant 2).
func TimesOf(list []float64) *job.Times {
	n := len(list)
	if n == 0 {
		return nil
	}
	slices.Sort(list)
	t := &job.Times{Of: n, Median: (list[(n-1)/2] + list[n/2]) / 2, P95: list[(n*95+99)/100-1]}
	for _, v := range list {
		t.Mean += v / float64(n)
	}
	return t
}

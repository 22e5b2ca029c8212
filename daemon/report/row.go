package report

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Row is what runs came to. Sums are of the parts inside the row's time; what happens at a
// moment (a start, an end) counts where that is inside.
type Row struct {
	Keys []string

	Jobs  int // that held something in the time, or ended in it
	Ended map[job.State]int

	GPUSeconds    float64 // times their parts
	GPUMemSeconds float64 // bytes that their processes had, times seconds
	GPUMemKnown   float64 // GPU-seconds of which that is known
	MemSeconds    float64 // bytes of the host that they asked, times seconds
	Joules        float64
	JoulesKnown   float64 // GPU-seconds of which that is known
	PeakBusy      int     // percent; with BusyKnown
	BusyKnown     bool
	PeakBytes     int64 // the most of one job on one GPU; 0: unknown

	Waits, Runs []float64 // seconds: of those that started, and that ended, in the time
	Efficiency

	several map[job.ID]bool // of the jobs, those that may have other runs
}

// begin is from when a run held what it has; of a job that never ran, its end.
func begin(r *job.Run) time.Time {
	if r.Attempt.PlacedAt.IsZero() {
		return r.Attempt.EndedAt
	}
	return r.Attempt.PlacedAt
}

// held is from when until when, which is not before that (invariant 3).
func held(r *job.Run, now time.Time) (from, to time.Time) {
	from, to = begin(r), r.Attempt.Until(now)
	if to.Before(from) {
		to = from
	}
	return from, to
}

func (s span) has(at time.Time) bool { return !at.IsZero() && !at.Before(s.from) && at.Before(s.to) }

// touches reports whether anything of a run is in the span.
func (s span) touches(r *job.Run, now time.Time) bool {
	from, to := held(r, now)
	if s.has(from) || s.has(to) || s.has(r.Attempt.EndedAt) {
		return true
	}
	return from.Before(s.from) && to.After(s.from)
}

// overlap is how much of a run is in the span, and which part of it that is (invariant 1).
func (s span) overlap(r *job.Run, now time.Time) (seconds, part float64) {
	from, to := held(r, now)
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

// add counts what of a run is in the span; only is the one GPU that the row is about, nil:
// all.
func (w *Row) add(r *job.Run, s span, only *job.Allocation, now time.Time) {
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
	if all := a.Milli(); only != nil && all > 0 {
		share = float64(only.Share()) / float64(all)
	}
	w.MemSeconds += float64(r.Mem) * seconds * share
	w.addHost(r, a.Ran(now), part*share, seconds*share)
	for i := range a.GPUs {
		if g := &a.GPUs[i]; only == nil || only == g {
			w.addUse(g, r, part, seconds, a.Ran(now).Seconds())
		}
	}
}

// countJob counts the job of a run once. A first attempt with which the job ended is its only
// run.
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

// values is how many single times and jobs the row keeps.
func (w *Row) values() int { return len(w.Waits) + len(w.Runs) + mapEntry*len(w.several) }

// mapEntry is what a job in a map takes, in single times.
const mapEntry = 5

// addUse counts one GPU of a run.
func (w *Row) addUse(g *job.Allocation, r *job.Run, part, seconds, ran float64) {
	held := seconds * float64(g.Share()) / job.WholeGPU
	w.GPUSeconds += held
	if mean := g.Use.MeanBytes(); mean >= 0 {
		w.GPUMemSeconds += float64(mean) * seconds
		w.GPUMemKnown += held
	}
	if joules := g.Use.Joules(); joules >= 0 {
		w.Joules += joules * part
		if ran > 0 { // it was metered for a part of the time only where figures were missing
			w.JoulesKnown += held * min(1, g.Use.Metered.Seconds()/ran)
		}
	}
	if busy := g.Use.PeakPercent(); busy >= 0 {
		w.PeakBusy, w.BusyKnown = max(w.PeakBusy, busy), true
	}
	w.PeakBytes = max(w.PeakBytes, g.Use.PeakBytes)
	w.addGPU(g, r, part, seconds)
}

// TimesOf sums up a list, which it sorts; nil: there is none (invariant 2).
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

package foresight

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// Trial is the changes of a waiting job to try, in the forecast that they are tried in.
type Trial struct {
	Ahead *Foresight
	id    job.ID
	list  []tried
	now   sched.Range // as the job is

	limit, served, run time.Duration // its time limit, run time so far, and what is expected without a limit
}

// tried is one change, and what the job would ask and be expected to run for with it.
type tried struct {
	sooner   job.Sooner
	request  job.Request
	expected time.Duration
	gap      bool // its time limit is the shortest that would do: the longest is asked that starts at once
}

// maxTried is how many changes of one job are tried.
const maxTried = 12

// NewTrial makes the trial of a job that waits for room; nil where there is none. Run is what is expected of it
// without a time limit. Takes says what the job would ask with a change and how long it would be expected to run,
// unless the site's rules or the owner's quotas refuse that.
func NewTrial(
	ahead *Foresight, j *job.Job, run time.Duration, runs Runs,
	takes func(*job.Sooner) (r job.Request, expected time.Duration, ok bool),
) *Trial {
	if ahead == nil || !slices.Contains(ahead.Forecast.Waiting(), j.ID) {
		return nil
	}
	t := &Trial{Ahead: ahead, id: j.ID, limit: j.Request.TimeLimit.Duration(), served: j.Served, run: run}
	for _, w := range changes(&j.Request, runs) {
		if len(t.list) == maxTried {
			break
		}
		var ok bool
		if w.request, w.expected, ok = takes(&w.sooner); ok {
			t.list = append(t.list, w)
		}
	}
	return t
}

// BeginWhile finds out when the job starts as it is, in a forecast that is no older than its own, while that
// is asked for, which it returns. It uses the forecast, which is shared; what follows does not.
func (t *Trial) BeginWhile(asked func() bool, in *Foresight) bool {
	t.Ahead = in
	if !in.Forecast.GoOn(asked, t.id) {
		return false
	}
	t.now = in.Forecast.Start(t.id)
	return true
}

// TriedWhile tries changes for as long as somebody asks. It returns those that let the job start sooner, the soonest
// first, and how many it tried.
func (t *Trial) TriedWhile(asked func() bool) (list []job.Sooner, n int) {
	now, as := t.Ahead.Forecast.Now(), t.now
	until := now.Add(job.Horizon)
	if as.Likely > 0 {
		until = as.Likely
	}
	gap := false // a limit was found with which the job starts now
	for i := range t.list {
		w := &t.list[i]
		if w.gap {
			gap = t.widen(w, asked)
		}
		if w.sooner.Change.TimeLimit != nil && w.gap != gap {
			continue
		}
		other := t.Ahead.Forecast.With(t.id, &w.request, w.expected, until)
		if !other.GoOn(asked, t.id) {
			break
		}
		n++
		r := other.Start(t.id)
		if r.Likely == 0 || as.Likely > 0 && !gains(time.Duration(r.Likely-now), time.Duration(as.Likely-now)) {
			continue
		}
		w.sooner.Now = r.Likely == now
		w.sooner.Start = startOf(r)
		list = append(list, w.sooner)
	}
	slices.SortStableFunc(list, func(a, b job.Sooner) int { return a.Start.At.Compare(b.Start.At) })
	return list, n
}

// longestGap is the longest time limit that is tried of a job that has none.
const longestGap = 30 * 24 * time.Hour

// widen finds the longest time limit with which the job starts at once, in whole minutes, and reports
// whether there is one that is no shorter than that of the change.
func (t *Trial) widen(w *tried, asked func() bool) bool {
	starts := func(d time.Duration) bool {
		span := job.Span(d)
		w.request.TimeLimit, w.sooner.Change.TimeLimit = span, &span
		w.expected = min(t.run, t.served+d)
		return t.Ahead.Forecast.With(t.id, &w.request, w.expected, 0).StartsNow(t.id, asked)
	}
	least := w.request.TimeLimit.Duration()
	if !starts(least) {
		return false
	}
	below := longestGap
	if t.limit > 0 {
		below = t.limit
	}
	for below-least > time.Minute {
		half := least + ((below - least) / 2).Round(time.Minute)
		if half >= below { // as of a limit that is no whole minutes
			break
		}
		if starts(half) {
			least = half
		} else {
			below = half
		}
	}
	return starts(least)
}

// leastGain is what a change has to gain so that it is worth to be named: a part of the wait, and no
// less than a minute.
const leastGain = 10

func gains(wait, before time.Duration) bool {
	return wait == 0 && before > 0 || before-wait >= max(before/leastGain, time.Minute)
}

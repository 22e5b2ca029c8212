package foresight

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// Trial is a list of changes to try for a waiting job, with the forecast in which to try the
// changes.
type Trial struct {
	Ahead *Foresight
	id    job.ID
	list  []trialChange
	now   sched.Range // when the unchanged job starts

	limit, served, run time.Duration // its time limit, its run time so far, and its expected run time without a limit
}

// A trialChange is one change, with the request and the expected run time of the changed job.
type trialChange struct {
	sooner   job.Sooner
	request  job.Request
	expected time.Duration
	gap      bool // the change sets the shortest limit to try; widen finds the longest that starts the job at once
}

// maxTried is the largest number of changes that are tried for one job.
const maxTried = 12

// NewTrial returns the trial of a job that waits for resources, or nil if the job does not wait for
// them. The argument runTime is the job's expected run time without a time limit. The function
// apply returns the job's request and expected run time after a change. It returns false if the
// site's rules or the owner's quotas forbid the change.
func NewTrial(
	ahead *Foresight, j *job.Job, runTime time.Duration, runs Runs,
	apply func(*job.Sooner) (r job.Request, expected time.Duration, ok bool),
) *Trial {
	if ahead == nil || !slices.Contains(ahead.Forecast.Waiting(), j.ID) {
		return nil
	}
	t := &Trial{Ahead: ahead, id: j.ID, limit: j.Request.TimeLimit.Duration(), served: j.Served, run: runTime}
	for _, w := range listChanges(&j.Request, runs) {
		if len(t.list) == maxTried {
			break
		}
		var ok bool
		if w.request, w.expected, ok = apply(&w.sooner); ok {
			t.list = append(t.list, w)
		}
	}
	return t
}

// BeginWhile computes when the unchanged job starts in the given forecast, which must not be older
// than the trial's own. As soon as goOn returns false, BeginWhile stops and returns false. Only
// this step of a trial uses the shared forecast.
func (t *Trial) BeginWhile(goOn func() bool, in *Foresight) bool {
	t.Ahead = in
	if !in.Forecast.Simulate(goOn, t.id) {
		return false
	}
	t.now = in.Forecast.Start(t.id)
	return true
}

// TriedWhile tries changes while goOn returns true. It returns the changes that make the job start
// sooner, the soonest start first. It also returns the number of changes that it tried.
func (t *Trial) TriedWhile(goOn func() bool) (list []job.Sooner, n int) {
	now, as := t.Ahead.Forecast.Now(), t.now
	until := now.Add(job.Horizon)
	if as.Likely > 0 {
		until = as.Likely
	}
	gap := false // whether a time limit was found with which the job starts now
	for i := range t.list {
		w := &t.list[i]
		if w.gap {
			gap = t.widen(w, goOn)
		}
		if w.sooner.Change.TimeLimit != nil && w.gap != gap {
			continue
		}
		other := t.Ahead.Forecast.With(t.id, &w.request, w.expected, until)
		if !other.Simulate(goOn, t.id) {
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

// longestGap is the longest time limit that is tried for a job that has none.
const longestGap = 30 * 24 * time.Hour

// widen finds the longest time limit, in whole minutes, with which the job starts at once. If the
// job does not start at once even with the limit that is in the change already, widen returns
// false.
func (t *Trial) widen(w *trialChange, goOn func() bool) bool {
	starts := func(d time.Duration) bool {
		span := job.Span(d)
		w.request.TimeLimit, w.sooner.Change.TimeLimit = span, &span
		w.expected = min(t.run, t.served+d)
		return t.Ahead.Forecast.With(t.id, &w.request, w.expected, 0).StartsNow(t.id, goOn)
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
		if half >= below { // then the variable below is not a whole number of minutes
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

// A suggested change must shorten the wait by at least a minute and at least a tenth; leastGain is
// the divisor.
const leastGain = 10

func gains(wait, before time.Duration) bool {
	return wait == 0 && before > 0 || before-wait >= max(before/leastGain, time.Minute)
}

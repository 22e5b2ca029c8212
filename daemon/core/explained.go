package core

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// maxAhead is how many of the jobs that go before another are named.
const maxAhead = 10

// Explained lists what goes before a waiting job. It reports false where the job is not in the queue.
func (c *Core) Explained(id job.ID, now time.Time) (out job.Explained, waits bool) {
	if !c.planning.Has(id) || !c.systemd.listed() {
		return out, false
	}
	c.placements(now) // other views of the queue forget for which jobs GPUs are kept
	kept := c.planning.Kept()
	list, all := c.planning.Ahead(c.snapshot(now), c.planning.Queue, id, maxAhead)
	out.More = all - len(list)
	for _, a := range list {
		j := c.jobs.get(a.ID).job
		out.Ahead = append(out.Ahead, job.Ahead{
			Job: a.ID, Called: j.Called(), User: j.Owner.User, Name: j.Label.Name, GPUMilli: j.Request.GPUMilli,
			Again: j.Attempt != nil, Kept: slices.Contains(kept, a.ID), Cause: a.Cause, Its: a.Its, Own: a.Own,
		})
	}
	return out, true
}

// maxTried is how many changes of one job are tried.
const maxTried = 12

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

// Trial returns the changes to try of a job that waits for room; nil where there are none. Those
// that the site's rules or the owner's quotas refuse are not among them.
func (c *Core) Trial(id job.ID, now time.Time) *Trial {
	l := c.jobs.get(id)
	if l == nil || !c.planning.Has(id) || !c.systemd.listed() {
		return nil
	}
	t := &Trial{Ahead: c.Foresee(now), id: id, limit: l.job.Request.TimeLimit.Duration(), served: l.job.Served}
	if t.Ahead == nil || !slices.Contains(t.Ahead.forecast.Waiting(), id) {
		return nil
	}
	free := l.job.Request
	free.TimeLimit = 0
	t.run = c.expectedRun(l.asking(free))
	for _, w := range c.changes(l, now) {
		if len(t.list) == maxTried {
			break
		}
		if c.wouldTake(l, &w, now) {
			t.list = append(t.list, w)
		}
	}
	return t
}

// wouldTake fills in what a job would ask after a change, and reports whether that may be.
func (c *Core) wouldTake(l *trackedJob, w *tried, now time.Time) bool {
	s := job.Submission{Owner: l.job.Owner, Principal: l.job.Principal, Label: l.job.Label, Request: l.job.Request}
	w.sooner.Change.Apply(&s)
	if s.Request.DefaultedMem && w.sooner.Change.GPUMilli != nil {
		s.Request.MemBytes = 0
	}
	c.applyDerivedDefaults(&s)
	any := w.sooner.Any
	if any.GPUs {
		s.Request.GPUIDs, s.Request.GPUsFrom, s.Request.ExcludeGPUs = nil, nil, nil
	}
	if any.Type {
		s.Request.GPUType = ""
	}
	if any.Load {
		s.Request.MaxLoadPercent, s.Request.MaxUsedPercent = 0, 0
	}
	if c.admitChange(&s, true, c.snapshot(now)) != nil {
		return false
	}
	w.request, w.expected = s.Request, c.expectedRun(l.asking(s.Request))
	return true
}

// asking returns a copy of a job that asks something else.
func (l *trackedJob) asking(r job.Request) *trackedJob {
	changed := *l.job
	changed.Request = r
	return &trackedJob{id: l.id, job: &changed, account: l.account, throttle: l.throttle}
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
		return t.Ahead.forecast.With(t.id, &w.request, w.expected, 0).StartsNow(t.id, asked)
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

// BeginWhile finds out when the job starts as it is, in a forecast that is no older than its own, while that
// is asked for, which it returns. It uses the forecast, which is shared; what follows does not.
func (t *Trial) BeginWhile(asked func() bool, in *Foresight) bool {
	t.Ahead = in
	if !in.forecast.GoOn(asked, t.id) {
		return false
	}
	t.now = in.forecast.Start(t.id)
	return true
}

// TriedWhile says which of the changes have the job start sooner, the soonest first, while that is
// asked for, and how many were tried.
func (t *Trial) TriedWhile(asked func() bool) (list []job.Sooner, n int) {
	now, as := t.Ahead.forecast.Now(), t.now
	until := now.Add(farCourse)
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
		other := t.Ahead.forecast.With(t.id, &w.request, w.expected, until)
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

// leastGain is what a change has to gain so that it is worth to be named: a part of the wait, and no
// less than a minute.
const leastGain = 10

func gains(wait, before time.Duration) bool {
	return wait == 0 && before > 0 || before-wait >= max(before/leastGain, time.Minute)
}

func startOf(r sched.Range) job.ExpectedStart {
	s := job.ExpectedStart{At: r.Likely.Time(), From: r.Early.Time()}
	if r.Latest {
		s.From = time.Time{}
	}
	if r.Late < sched.Never {
		s.By = r.Late.Time()
	}
	return s
}

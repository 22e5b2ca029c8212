package core

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// Few units are started at once, in places, since systemd forks one after the other. People take turns at
// them. A start that takes long leaves its place: it costs systemd nothing, and holds up its own person alone.

const (
	slowStart     = 2 * time.Second  // a start that takes longer is slow
	maxSlowStarts = 2                // of one person: with so many under way no other is begun
	longStart     = 10 * time.Second // a start that takes longer is reported
)

// startBook lists the starts that wait for a place and those under way, each list in order.
type startBook struct {
	waiting []waitingStart
	begun   []*begunStart
	placed  int // of begun, those in a place
	people  map[*sched.Account]*starter
	turns   uint64
}

type waitingStart struct {
	l      *trackedJob
	by     *starter
	looked time.Time // at its GPUs; zero: it rests on no look
}

type begunStart struct {
	l     *trackedJob
	by    *starter
	since time.Time
	slow  bool   // it has left its place
	why   string // "": not known
}

// starter is a person whose jobs are started.
type starter struct {
	account      *sched.Account
	placed, slow int
	turn         uint64 // when a start was begun last
	wary         bool   // the last start was slow: one at a time is begun until one is not
	bar          string // why the account is barred for slow starts; "": it is not
}

func newStartBook() startBook { return startBook{people: map[*sched.Account]*starter{}} }

// may reports whether another start of the person may begin, of so many places; 0: any. A quarter of them is
// for others, so that they need not wait until it shows that starts are slow.
func (p *starter) may(places int) bool {
	switch {
	case p.slow >= maxSlowStarts:
		return false
	case p.wary:
		return p.placed == 0
	}
	return places == 0 || p.placed < max(1, places*3/4)
}

// add puts a start in line.
func (b *startBook) add(l *trackedJob, looked time.Time) *starter {
	p := b.people[l.account]
	if p == nil {
		p = &starter{account: l.account}
		b.people[l.account] = p
	}
	l.action = inLine
	b.waiting = append(b.waiting, waitingStart{l, p, looked})
	return p
}

// begin begins the next start, of which so many have a place; false: none is to begin now.
func (b *startBook) begin(places int, now time.Time) (w waitingStart, ok bool) {
	if places > 0 && b.placed >= places {
		return w, false
	}
	at := -1
	for i, w := range b.waiting {
		if (at < 0 || w.by.turn < b.waiting[at].by.turn) && w.by.may(places) {
			at = i
		}
	}
	if at < 0 {
		return w, false
	}
	w = b.waiting[at]
	b.waiting = slices.Delete(b.waiting, at, at+1)
	b.begun = append(b.begun, &begunStart{l: w.l, by: w.by, since: now})
	b.turns++
	b.placed++
	w.by.placed++
	w.by.turn = b.turns
	return w, true
}

// end ends the start of a job; nil: none was under way.
func (b *startBook) end(id job.ID) *begunStart {
	s := b.find(id)
	if s == nil {
		return nil
	}
	b.begun = slices.DeleteFunc(b.begun, func(o *begunStart) bool { return o == s })
	if s.by.wary = s.slow; s.slow {
		s.by.slow--
	} else {
		s.by.placed--
		b.placed--
	}
	return s
}

// slowed frees the place of a slow start.
func (b *startBook) slowed(s *begunStart) {
	s.slow, s.by.wary = true, true
	s.by.slow++
	s.by.placed--
	b.placed--
}

// leave takes a job out of line.
func (b *startBook) leave(l *trackedJob) {
	b.waiting = slices.DeleteFunc(b.waiting, func(w waitingStart) bool { return w.l == l })
	l.action = noAction
}

// waitingOf returns the jobs of a person that are in line.
func (b *startBook) waitingOf(p *starter) (list []*trackedJob) {
	for _, w := range b.waiting {
		if w.by == p {
			list = append(list, w.l)
		}
	}
	return list
}

// slowOf returns the starts of a person that take long.
func (b *startBook) slowOf(p *starter) (list []*begunStart) {
	for _, s := range b.begun {
		if s.by == p && s.slow {
			list = append(list, s)
		}
	}
	return list
}

// find returns the start of a job that is under way; nil: none is.
func (b *startBook) find(id job.ID) *begunStart {
	for _, s := range b.begun {
		if s.l.id == id {
			return s
		}
	}
	return nil
}

// since returns those that began then or before, the first first.
func (b *startBook) since(at time.Time) (list []*begunStart) {
	for _, s := range b.begun {
		if !s.since.After(at) {
			list = append(list, s)
		}
	}
	return list
}

// deadlines are when starts become slow.
func (b *startBook) deadlines(of func(time.Time)) {
	for _, s := range b.begun {
		if !s.slow {
			of(s.since.Add(slowStart))
		}
	}
}

// shift moves its times with a clock that was set.
func (b *startBook) shift(by time.Duration, now time.Time) {
	for i := range b.waiting {
		b.waiting[i].looked = moved(b.waiting[i].looked, by, now)
	}
	for _, s := range b.begun {
		s.since = moved(s.since, by, now)
	}
}

// start has the unit of the current attempt started, which is on record or in this step's records, as soon as
// there is a place.
func (c *Core) start(l *trackedJob, now time.Time) {
	var looked time.Time
	if c.needsSample(l) {
		looked = now
	}
	p := c.starts.add(l, looked)
	c.beginStarts(now)
	c.barSlow(p, now)
}

// beginStarts begins the starts for which there is a place.
func (c *Core) beginStarts(now time.Time) {
	for w, ok := c.starts.begin(c.policy.StartsInFlight, now); ok; w, ok = c.starts.begin(c.policy.StartsInFlight, now) {
		w.l.action, w.l.unasked = starting, false
		w.l.life().asked = now
		c.step.act(Start{Job: *w.l.job, Looked: w.looked})
	}
}

// startOver notes that a start is over, whatever came of it, which gives its place to the next.
func (c *Core) startOver(id job.ID, now time.Time) (s *begunStart) {
	if s = c.starts.end(id); s == nil {
		return nil
	}
	if p := s.by; p.bar != "" && p.slow < maxSlowStarts {
		if p.account.Barred == p.bar {
			p.account.Barred = ""
		}
		p.bar = ""
		c.step.replan()
	}
	c.beginStarts(now)
	return s
}

// lateStarts has the starts that take long leave their places.
func (c *Core) lateStarts(now time.Time) {
	for _, s := range c.starts.since(now.Add(-slowStart)) {
		c.slowed(s, "", now)
	}
}

// startSlow takes what is known of why a start takes long.
func (c *Core) startSlow(e StartSlow, now time.Time) {
	if s := c.starts.find(e.Job); s != nil && s.l.job.Attempt.Number == e.Attempt {
		c.slowed(s, e.Why, now)
	}
}

// slowed frees the place of a slow start, unless it was freed before. Why is "" if nothing is known.
func (c *Core) slowed(s *begunStart, why string, now time.Time) {
	s.why = cmp.Or(s.why, why)
	if !s.slow {
		c.starts.slowed(s)
		c.step.act(Hasten{Job: *s.l.job})
		c.beginStarts(now)
	}
	c.barSlow(s.by, now)
}

// barSlow keeps the other jobs of a person who has slow starts enough in the queue: what they were
// placed on is of use to others meanwhile.
func (c *Core) barSlow(p *starter, now time.Time) {
	if p.slow < maxSlowStarts {
		return
	}
	if p.account.Barred == "" || p.account.Barred == p.bar {
		p.bar = c.tellSlow(p)
		p.account.Barred = p.bar
	}
	for _, l := range c.starts.waitingOf(p) {
		c.standBack(l, job.Text(p.account.Barred), now)
	}
}

// standBack has a job of which nothing has begun go back to the queue.
func (c *Core) standBack(l *trackedJob, why job.Message, now time.Time) {
	c.starts.leave(l)
	r := job.Result{Outcome: job.Lost, Cause: job.StopTaken, Detail: why}
	if l.unasked {
		c.giveWay(l, r, now)
	} else { // a call of a daemon that died may still make its unit
		c.endAttempt(l, r, now)
	}
}

// leave notes whether systemd stops everything. A job of which nothing has begun goes back to the queue before the
// machine is down: on record it would be a start like any other, which a reboot takes.
func (c *Core) leave(down bool, now time.Time) {
	c.systemd.setLeaving(down)
	c.step.replan()
	if !down {
		return
	}
	for _, id := range slices.Clone(c.jobs.activeIDs()) {
		if l := c.jobs.active(id); l != nil && (l.action == inLine || l.action == checking) {
			c.standBack(l, job.Say("detail/going-down"), now)
		}
	}
}

// tellSlow says why no other start of a person begins.
func (c *Core) tellSlow(p *starter) string {
	var names []string
	why := ""
	for _, s := range c.starts.slowOf(p) {
		names, why = append(names, c.jobs.called(s.l.id)), cmp.Or(why, s.why)
	}
	text := "jobs " + strings.Join(names, ", ") + " of this user take long to start; no other begins before one of them is over"
	if why != "" {
		text += " (" + why + ")"
	}
	return text
}

// SlowStart is a start that has been under way for long.
type SlowStart struct {
	Job   job.Job
	Since time.Time
	Why   string // "": not known
}

// SlowStart returns the one that has been under way for longest; nil: none takes long.
func (c *Core) SlowStart(now time.Time) *SlowStart {
	for _, s := range c.starts.since(now.Add(-longStart)) {
		return &SlowStart{Job: *s.l.job, Since: s.since, Why: s.why}
	}
	return nil
}

// seen is a job as it is shown.
func (l *trackedJob) seen() *job.Job {
	if !l.unbegun() {
		return l.job
	}
	j := *l.job
	j.State = l.shown()
	return &j
}

// shown is the state in which a job is shown: nothing has begun of one that waits to be started.
func (l *trackedJob) shown() job.State {
	if l.unbegun() {
		return job.Queued
	}
	return l.job.State
}

// unbegun reports whether a job waits to be started and leaves the line at once for the queue. One whose start a daemon
// that died may have asked for does not: its unit can still be made, and is stopped first.
func (l *trackedJob) unbegun() bool { return l.action == inLine && l.unasked }

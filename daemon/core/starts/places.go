package starts

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// systemd forks one unit after the other. So only a few units start at once, each in its own place.
// Users take turns at the places. A slow start leaves its place: it costs systemd nothing, and
// delays only other starts of its own user.

const (
	SlowStart     = 2 * time.Second  // a start that takes longer than this is slow
	MaxSlowStarts = 2                // while a person has this many slow starts, no other start of that person begins
	LongStart     = 10 * time.Second // a start that takes longer than this is reported
)

// Places contains the starts that wait for a place, and the starts under way. Both lists are in the
// order of their additions.
type Places struct {
	waiting []waitingStart
	begun   []*BegunStart
	placed  int // the number of starts in begun that have a place
	people  map[*sched.Account]*Starter
	turns   uint64
}

type waitingStart struct {
	Of        *tracked.Job
	by        *Starter
	SampledAt time.Time // when the sample on which the start relies was taken; zero: it relies on none
}

type BegunStart struct {
	Of    *tracked.Job
	By    *Starter
	Since time.Time
	Slow  bool   // the start has left its place
	Why   string // why the start is slow; "": unknown
}

// Starter is a person whose jobs are started.
type Starter struct {
	Account      *sched.Account
	placed, Slow int
	turn         uint64 // the number of the person's last turn
	wary         bool   // the last start was slow, so only one starts at a time until one is fast
	Bar          string // why the account is barred because of slow starts; "": it is not barred
}

func NewPlaces() Places { return Places{people: map[*sched.Account]*Starter{}} }

// mayBegin reports whether another start of the person may begin. If places is 0, the number of
// places is not limited. A quarter of the places is kept for other persons, because it takes some
// time to notice that a person's starts are slow.
func (p *Starter) mayBegin(places int) bool {
	switch {
	case p.Slow >= MaxSlowStarts:
		return false
	case p.wary:
		return p.placed == 0
	}
	return places == 0 || p.placed < max(1, places*3/4)
}

// Add puts a job's start at the end of the line.
func (b *Places) Add(l *tracked.Job, looked time.Time) *Starter {
	p := b.people[l.Account]
	if p == nil {
		p = &Starter{Account: l.Account}
		b.people[l.Account] = p
	}
	l.Action = tracked.InLine
	b.waiting = append(b.waiting, waitingStart{l, p, looked})
	return p
}

// Begin begins the next start if a place is free for it. If no start may begin now, it returns
// false.
func (b *Places) Begin(places int, now time.Time) (w waitingStart, ok bool) {
	if places > 0 && b.placed >= places {
		return w, false
	}
	at := -1
	for i, w := range b.waiting {
		if (at < 0 || w.by.turn < b.waiting[at].by.turn) && w.by.mayBegin(places) {
			at = i
		}
	}
	if at < 0 {
		return w, false
	}
	w = b.waiting[at]
	b.waiting = slices.Delete(b.waiting, at, at+1)
	b.begun = append(b.begun, &BegunStart{Of: w.Of, By: w.by, Since: now})
	b.turns++
	b.placed++
	w.by.placed++
	w.by.turn = b.turns
	return w, true
}

// End removes a job's start that was under way. If there was none, it returns nil.
func (b *Places) End(id job.ID) *BegunStart {
	s := b.Find(id)
	if s == nil {
		return nil
	}
	b.begun = slices.DeleteFunc(b.begun, func(o *BegunStart) bool { return o == s })
	if s.By.wary = s.Slow; s.Slow {
		s.By.Slow--
	} else {
		s.By.placed--
		b.placed--
	}
	return s
}

// Slowed frees the place of a start that has become slow.
func (b *Places) Slowed(s *BegunStart) {
	s.Slow, s.By.wary = true, true
	s.By.Slow++
	s.By.placed--
	b.placed--
}

// Leave takes a job's start out of the line.
func (b *Places) Leave(l *tracked.Job) {
	b.waiting = slices.DeleteFunc(b.waiting, func(w waitingStart) bool { return w.Of == l })
	l.Action = tracked.NoAction
}

// WaitingOf returns a person's jobs whose starts are in line.
func (b *Places) WaitingOf(p *Starter) (list []*tracked.Job) {
	for _, w := range b.waiting {
		if w.by == p {
			list = append(list, w.Of)
		}
	}
	return list
}

// SlowOf returns a person's slow starts.
func (b *Places) SlowOf(p *Starter) (list []*BegunStart) {
	for _, s := range b.begun {
		if s.By == p && s.Slow {
			list = append(list, s)
		}
	}
	return list
}

// Find returns a job's start that is under way. If there is none, it returns nil.
func (b *Places) Find(id job.ID) *BegunStart {
	for _, s := range b.begun {
		if s.Of.ID == id {
			return s
		}
	}
	return nil
}

// Since returns the starts that began at the given time or earlier, earliest first.
func (b *Places) Since(at time.Time) (list []*BegunStart) {
	for _, s := range b.begun {
		if !s.Since.After(at) {
			list = append(list, s)
		}
	}
	return list
}

// Deadlines yields the times at which starts become slow.
func (b *Places) Deadlines(of func(time.Time)) {
	for _, s := range b.begun {
		if !s.Slow {
			of(s.Since.Add(SlowStart))
		}
	}
}

// Shift adjusts the recorded times after the clock was set.
func (b *Places) Shift(by time.Duration, now time.Time) {
	for i := range b.waiting {
		job.Shift(by, now, &b.waiting[i].SampledAt)
	}
	for _, s := range b.begun {
		job.Shift(by, now, &s.Since)
	}
}

// Check verifies that the lists contain exactly the jobs that are being started or wait for a
// place. It also recounts the places.
func (b *Places) Check(jobs *tracked.Book, breach tracked.Breach) {
	placed, noted := 0, map[job.ID]tracked.PendingAction{}
	for _, w := range b.waiting {
		noted[w.Of.ID] = tracked.InLine
	}
	for _, s := range b.begun {
		noted[s.Of.ID] = tracked.Starting
		if !s.Slow {
			placed++
		}
	}
	for id, l := range jobs.All() {
		is := tracked.NoAction
		if l.Action == tracked.InLine || l.Action == tracked.Starting {
			is = l.Action
		}
		if noted[id] != is {
			breach(11, "job %d is noted with start %d, and has action %d", id, noted[id], l.Action)
		}
		delete(noted, id)
	}
	if len(noted) > 0 || placed != b.placed {
		breach(11, "%d places are taken, counted are %d, of jobs that have ended %v", placed, b.placed, noted)
	}
}

package core

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/gpusched/gpusched/daemon/job"
)

// A job that waits rests: it is kept in a form that takes an eighth of the memory. Who
// gets it from the book has it open until the step is over, and may change it. What
// looks at many opens each for as long as it looks, and changes nothing.

// open has a job be as it is used, until rest.
func (b *jobBook) open(l *trackedJob) {
	if l.job == nil {
		l.job = new(job.Job)
		l.compact.Unpack(l.job)
		b.opened = append(b.opened, l)
	}
}

// rest has all jobs that are open and can rest do so.
func (b *jobBook) rest() {
	for _, l := range b.opened {
		b.lay(l)
	}
	clear(b.opened)
	b.opened = b.opened[:0]
}

// lay has a job rest, and reports whether it can.
func (b *jobBook) lay(l *trackedJob) bool {
	if l.job == nil {
		return true
	}
	c, rests := job.Compact{}, false
	if !l.job.State.Terminal() {
		c, rests = b.interned.Pack(l.job)
	}
	b.interned.Drop(&l.compact)
	if l.compact = c; rests {
		l.job = nil
	}
	return rests
}

// keepOwn is rest for the one job that was added, whose memory is the caller's.
func (b *jobBook) keepOwn(l *trackedJob) {
	b.opened = b.opened[:0]
	if !b.lay(l) {
		own := *l.job
		l.job = &own
	}
}

// keepForm is keepOwn of a job that was in a compact form of this book's, of which nothing changed but its wait.
func (b *jobBook) keepForm(l *trackedJob, form *job.Compact) {
	b.opened = b.opened[:0]
	l.compact = *form
	l.compact.TakeWait(l.job)
	l.job = nil
}

// look opens a job for one who changes nothing, until shut. Of a job that is open already
// it does nothing, and reports false.
func (b *jobBook) look(l *trackedJob) bool {
	if l.job != nil {
		return false
	}
	if n := len(b.spare) - 1; n >= 0 {
		l.job, b.spare = b.spare[n], b.spare[:n]
	} else {
		l.job = new(job.Job)
	}
	l.compact.Unpack(l.job)
	return true
}

// shut ends what look began, if it did.
func (b *jobBook) shut(l *trackedJob, looked bool) {
	if looked {
		b.spare = append(b.spare, l.job)
		l.job = nil
	}
}

// all yields the jobs in no order, each to be looked at until the next.
func (b *jobBook) all() iter.Seq2[job.ID, *trackedJob] {
	return func(yield func(job.ID, *trackedJob) bool) {
		for id, l := range b.byID {
			b.walked++
			looked := b.look(l)
			goOn := yield(id, l)
			b.shut(l, looked)
			if !goOn {
				return
			}
		}
	}
}

// everyID yields the ids in no order.
func (b *jobBook) everyID() iter.Seq[job.ID] { return maps.Keys(b.byID) }

// anyJob is for each.
func anyJob(*trackedJob) bool { return true }

// each has f change jobs, by id, of those for which may is true as they lie. One that it looks at rests again
// before the next.
func (b *jobBook) each(may func(*trackedJob) bool, f func(*trackedJob)) {
	var some []*trackedJob
	for _, l := range b.byID {
		if may(l) {
			some = append(some, l)
		}
	}
	slices.SortFunc(some, func(x, y *trackedJob) int { return cmp.Compare(x.id, y.id) })
	for _, l := range some {
		rested := l.job == nil
		if rested {
			l.job = new(job.Job)
			l.compact.Unpack(l.job)
		}
		if f(l); rested {
			b.lay(l)
		}
	}
}

// find returns a job as it lies; nil: there is none.
func (b *jobBook) find(id job.ID) *trackedJob { return b.byID[id] }

// state is that of a job, open or not.
func (l *trackedJob) state() job.State {
	if l.job == nil {
		return job.Queued
	}
	return l.job.State
}

// request is what a job asks, open or not: of one that rests without what few ask, and what the
// daemon derived. It is only to be read.
func (l *trackedJob) request() *job.Request {
	if l.job == nil {
		return l.compact.Request()
	}
	return &l.job.Request
}

// ownerUID is whose job it is, open or not.
func (l *trackedJob) ownerUID() int {
	if l.job == nil {
		return l.compact.UID()
	}
	return l.job.Owner.UID
}

package gpus

import (
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
)

// strayOf says whether a process is a stray of the job that left the GPU; no job: it is not.
// One that may have begun before the job or after its end counts as one, unsurely, until another look.
func (dep *cleanup) strayOf(uid int, began tracked.Span) membership {
	switch {
	case dep.attempt == 0 || dep.uid != uid || began.From.After(dep.ended.To):
		return membership{}
	case !dep.unsure && began.To.Before(dep.began):
		return membership{}
	}
	older, newer := began.From.Before(dep.began), began.To.After(dep.ended.From)
	return membership{job: dep.job, unsure: dep.unsure || older || newer}
}

// holderOf is the job of a user that has the GPU and during which a process began, and
// whether it is known to have run then; nil: there is none. A job has no process before its unit was asked for.
func (b *inventory) holderOf(uuid string, uid int, began tracked.Span) (last *tracked.Job, sure bool) {
	for _, id := range b.jobs.ActiveIDs() {
		l := b.jobs.Active(id)
		if l.Unasked || l.Person().UID != uid || !b.jobs.Holds(id, uuid) || began.From.Before(l.Beginning()) {
			continue
		}
		known := !began.To.After(l.Lifetime().Known())
		switch {
		case l.Lifetime().Spent && began.From.After(l.Lifetime().Ended): // it had ended before
		case last == nil, known && !sure, known == sure && l.Beginning().After(last.Beginning()):
			last, sure = l, known
		}
	}
	return last, sure
}

// remembers reports whether it is known when a job ran that has the GPU, or has left it
// since it was clean.
func (b *inventory) remembers(d *device, id job.ID) bool {
	for dep := d.cleanup; dep != nil; dep = dep.earlier {
		if dep.job == id && dep.attempt != 0 {
			return true
		}
	}
	return b.jobs.Holds(id, d.UUID)
}

package sched

import (
	"cmp"
	"slices"
	"time"
)

// refVictim is a running job that may be stopped.
type refVictim struct {
	*Running
	score  float64
	chosen bool
}

// preemptAll is rule "Preemption": for the first of the jobs that do not fit,
// in order, as many as the pass looks at.
func (r *reference) preemptAll() {
	r.freed = r.now.clone()
	for _, x := range r.s.Running {
		if x.Stopping {
			r.freed.add(1, x.Grants, x.MemBytes)
		}
	}
	for i, g := range r.s.GPUs {
		if g.State == Cleaning && g.BackAt > 0 {
			r.freed.gpus[i].ok = true
		}
	}
	list := r.victims()
	futile := map[refKind]bool{}
	for tries := 0; tries < maxPreemptors; {
		at := slices.IndexFunc(r.jobs, func(j refJob) bool { return !futile[j.kind] && !r.looked[j.ID] && r.waits(j) })
		if at < 0 || !slices.ContainsFunc(list, func(v *refVictim) bool { return !v.chosen && r.yields(v, r.jobs[at]) }) {
			return
		}
		tries++
		r.looked[r.jobs[at].ID] = true
		if !r.preemptFor(r.jobs[at], list) {
			futile[r.jobs[at].kind] = true
		}
	}
}

// waits tells whether something of the job is left and not at a bound.
func (r *reference) waits(j refJob) bool {
	starts := 0
	for _, x := range r.place {
		if x.Job == j.ID {
			starts++
		}
	}
	return starts < j.Count && (j.Gate == nil || r.gates[j.Gate] < j.Gate.Left) && !r.capped(j.Waiting)
}

// victims lists the jobs that have had their slice, those that stand lowest
// first.
func (r *reference) victims() (list []*refVictim) {
	for i := range r.s.Running {
		x := &r.s.Running[i]
		ran := time.Duration(r.s.Now - x.Start)
		if !x.Preemptible || x.Stopping || ran < r.s.Policy.Slice {
			continue
		}
		v := &refVictim{Running: x}
		if !r.s.Policy.FIFO {
			expected := max(x.Expected, time.Second)
			for expected <= ran {
				expected *= 2
			}
			v.score = r.factor(x.Account) * (1 + float64(max(0, x.Start-x.Since))/float64(powerOfTwo(expected)))
		}
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b *refVictim) int { return -compareStanding(a, b) })
	return list
}

// compareStanding is the order of running jobs among themselves.
func compareStanding(a, b *refVictim) int {
	return cmp.Or(
		cmp.Compare(b.Priority.Class, a.Priority.Class), cmp.Compare(b.Priority.Number, a.Priority.Number),
		cmp.Compare(b.score, a.score), cmp.Compare(a.Since, b.Since), cmp.Compare(a.ID, b.ID),
	)
}

func (r *reference) yields(v *refVictim, j refJob) bool {
	x, y := v.Priority, j.Request.Priority
	if x != y {
		return x.Class < y.Class || x.Class == y.Class && x.Number < y.Number
	}
	return !r.s.Policy.FIFO && j.score > 1.25*v.score
}

// preemptFor tries all sets of those that yield, counted with the lowest of them
// as the lowest bit: the first set with which the job fits is stopped. So the
// highest is as low as can be, then the next, and none is not needed.
func (r *reference) preemptFor(j refJob, all []*refVictim) bool {
	list := slices.DeleteFunc(slices.Clone(all), func(v *refVictim) bool { return v.chosen || !r.yields(v, j) })
	for set := range 1 << len(list) {
		var gone []*refVictim
		for i, v := range list {
			if set&(1<<i) != 0 {
				gone = append(gone, v)
			}
		}
		if r.fitsWithout(j, gone) {
			r.stop(j, gone)
			return true
		}
	}
	return false
}

func (r *reference) stop(j refJob, gone []*refVictim) {
	for _, v := range gone {
		v.chosen = true
		r.freed.add(1, v.Grants, v.MemBytes)
		r.preempt = append(r.preempt, Preemption{Victim: v.ID, For: j.ID})
	}
	r.freed.add(-1, r.choose(j.Waiting, r.freed, true), j.Request.MemBytes)
	r.count(j)
}

// fitsWithout tells whether the job fits when these are gone.
func (r *reference) fitsWithout(j refJob, gone []*refVictim) bool {
	m := r.freed.clone()
	for _, v := range gone {
		m.add(1, v.Grants, v.MemBytes)
	}
	return r.fits(j.Waiting, m, r.s.Now, true)
}

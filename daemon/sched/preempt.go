package sched

import (
	"slices"
	"time"
)

// hysteresis is by how much the score of a job must exceed that of a running
// one before the running one is stopped for it.
const hysteresis = 1.25

// maxPreemptors bounds for how many jobs a pass looks for victims.
const maxPreemptors = 16

// victim is a running job that may be stopped, with its place in the order.
type victim struct {
	rank
	run    *Running
	chosen bool
}

// preempt chooses running jobs to stop for jobs that do not fit, the first in
// order first.
func (p *Planner) preempt() {
	if p.findVictims(); len(p.victims) == 0 {
		return
	}
	p.freed.set(&p.now)
	for i := range p.s.Running {
		if r := &p.s.Running[i]; r.Stopping {
			p.freed.giveBack(r.Grants, r.MemBytes, p.s.Now)
		}
	}
	for i := range p.s.GPUs {
		if g := &p.s.GPUs[i]; g.State == Cleaning && g.BackAt > 0 {
			p.freed.gpus[i].ok = true
		}
	}
	p.restart()
	for range maxPreemptors {
		c := p.firstLeft()
		if c == nil || !p.anyVictim(&c.rank) {
			return
		}
		if !p.preemptFor(c) || !p.next(c) {
			c.bucket.mark = p.pass
		}
	}
}

// restart takes up again all jobs that the pass did not place, from the head
// of each bucket.
func (p *Planner) restart() {
	p.pass++
	p.heap, p.blocked = p.heap[:0], p.blocked[:0]
	for _, b := range p.q.buckets {
		c := cursor{bucket: b, entry: b.head}
		c.used = p.starts(b.head)
		if !b.account.capped(b.shape.milli) && p.seek(&c) {
			p.blocked = append(p.blocked, c)
		}
	}
}

// firstLeft returns the first job in order that is left and not capped.
func (p *Planner) firstLeft() *cursor {
	var best *cursor
	for i := range p.blocked {
		c := &p.blocked[i]
		if c.bucket.mark == p.pass || !p.seek(c) || best != nil && !c.before(&best.rank) || c.bucket.account.capped(c.bucket.shape.milli) {
			continue
		}
		best = c
	}
	return best
}

// findVictims lists the jobs that have run for their slice, the lowest first.
func (p *Planner) findVictims() {
	p.victims = p.victims[:0]
	if p.q.Len() == 0 {
		return
	}
	for i := range p.s.Running {
		r := &p.s.Running[i]
		if r.Preemptible && !r.Stopping && time.Duration(p.s.Now-r.Start) >= p.s.Policy.Slice {
			p.victims = append(p.victims, victim{rank: p.standing(r), run: r})
		}
	}
	slices.SortFunc(p.victims, func(a, b victim) int {
		if a.before(&b.rank) {
			return 1
		}
		return -1
	})
}

// yields tells whether the running job stands low enough to be stopped for the
// other.
func (v *victim) yields(r *rank, fifo bool) bool {
	switch {
	case v.class != r.class:
		return v.class < r.class
	case v.number != r.number:
		return v.number < r.number
	}
	return !fifo && r.score > hysteresis*v.score
}

func (p *Planner) anyVictim(r *rank) bool {
	return slices.ContainsFunc(p.victims, func(v victim) bool { return !v.chosen && v.yields(r, p.s.Policy.FIFO) })
}

// preemptFor chooses victims for the job at the cursor and counts what they
// free as the job's; false when all of them would not be enough.
func (p *Planner) preemptFor(c *cursor) bool {
	q := c.question(p.s.Now, true)
	picked := 0
	for i := range p.victims {
		if p.fits(&q, &p.freed) {
			break
		}
		if v := &p.victims[i]; !v.chosen && v.yields(&c.rank, p.s.Policy.FIFO) {
			v.chosen = true
			picked++
			p.freed.giveBack(v.run.Grants, v.run.MemBytes, p.s.Now)
			p.out.Preempt = append(p.out.Preempt, Preemption{Victim: v.run.ID, For: c.entry.ID})
		}
	}
	ok := p.fits(&q, &p.freed)
	p.spareVictims(&q, picked, ok)
	if ok {
		p.freed.take(p.choose(&q, &p.freed), c.bucket.shape.mem)
		c.bucket.account.take(c.bucket.shape.milli)
		p.through(c.entry.Gate)
	}
	return ok
}

// spareVictims lets go the last picked victims of which the job has no need,
// those that stand highest first; all of them when it is no use.
func (p *Planner) spareVictims(q *question, picked int, ok bool) {
	list := p.out.Preempt[len(p.out.Preempt)-picked:]
	for i := len(list) - 1; i >= 0; i-- {
		at := slices.IndexFunc(p.victims, func(v victim) bool { return v.run.ID == list[i].Victim })
		v := &p.victims[at]
		p.freed.take(v.run.Grants, v.run.MemBytes)
		if ok && !p.fits(q, &p.freed) {
			p.freed.giveBack(v.run.Grants, v.run.MemBytes, p.s.Now)
			continue
		}
		v.chosen = false
		list = slices.Delete(list, i, i+1)
	}
	p.out.Preempt = p.out.Preempt[:len(p.out.Preempt)-picked+len(list)]
}

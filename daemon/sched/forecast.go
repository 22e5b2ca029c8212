package sched

import (
	"slices"

	"github.com/gpusched/gpusched/daemon/job"
)

// maxForecast is for how many waiting jobs, the first in order, a start is
// foretold.
const maxForecast = 200

// Forecast foretells when the first waiting jobs start if everything runs as
// long as expected and nothing new comes. Jobs that never fit by themselves
// are left out, those that are at a quota or at the limit of their array, and
// those that only the load of a GPU keeps waiting.
func (p *Planner) Forecast(s *Snapshot, q *Queue) map[job.ID]Instant {
	waiting := p.Ordered(s, q, maxForecast)
	for i := range s.Running {
		r := &s.Running[i]
		p.ends = append(p.ends, release{at: max(r.End, s.Now), grants: r.Grants, mem: r.MemBytes, gpu: noGPU})
	}
	for i := range s.GPUs {
		if g := &s.GPUs[i]; g.State != OK && g.BackAt > 0 {
			p.ends = append(p.ends, release{at: max(g.BackAt, s.Now), gpu: i})
		}
	}
	for i := range s.Reserved {
		if to := s.Reserved[i].To; to > s.Now {
			p.ends = append(p.ends, release{at: to, gpu: nothing})
		}
	}
	waiting = slices.DeleteFunc(waiting, func(id job.ID) bool { return q.entries[id].bounded() })
	starts := map[job.ID]Instant{}
	for at := s.Now; len(waiting) > 0; {
		waiting = slices.DeleteFunc(waiting, func(id job.ID) bool { return p.foretell(q.entries[id], at, starts) })
		if len(p.ends) == 0 {
			break
		}
		slices.SortStableFunc(p.ends, byTime)
		at = p.ends[0].at
		n := 0
		for ; n < len(p.ends) && p.ends[n].at == at; n++ {
			p.now.comeBack(&p.ends[n])
		}
		p.ends = slices.Delete(p.ends, 0, n)
	}
	return starts
}

// bounded tells whether the job waits for others of its owner or array to end,
// of which nothing is foretold.
func (e *entry) bounded() bool {
	return e.Gate != nil && e.Gate.Left <= 0 || e.bucket.account.capped(e.bucket.shape.milli)
}

// foretell starts the job at a moment to come, if it fits.
func (p *Planner) foretell(e *entry, at Instant, starts map[job.ID]Instant) bool {
	q := question{shape: e.bucket.shape, account: e.bucket.account, at: at, ahead: true}
	if !p.fits(&q, &p.now) {
		return false
	}
	if q.ahead = at > p.s.Now; !p.fits(&q, &p.now) {
		return true // a load keeps it, of which nobody knows how long it lasts
	}
	grants := slices.Clone(p.choose(&q, &p.now))
	p.now.take(grants, q.shape.mem)
	p.ends = append(p.ends, release{at: at.Add(e.bucket.run), grants: grants, mem: q.shape.mem, gpu: noGPU})
	starts[e.ID] = at
	return true
}

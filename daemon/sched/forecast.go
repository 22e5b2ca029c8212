package sched

import (
	"slices"

	"github.com/gpusched/gpusched/daemon/job"
)

// maxForecast is for how many waiting jobs, the first in order, a start is
// forecast.
const maxForecast = 200

// forecast is a look at the passes to come, in which everything runs as long as
// expected, nothing new comes and the order stays as it is. The planner's
// capacity moves with it; its reservations are made anew at each moment, as a pass
// makes them.
type forecast struct {
	*Planner
	begun  Instant
	ends   []release // but for those of reservations
	starts map[job.ID]Instant
}

// Forecast foretells when the first waiting jobs start if everything runs as
// long as expected and nothing new comes. Jobs that never fit by themselves
// are left out, those that are at a quota or at the limit of their array, and
// those that only the load of a GPU keeps waiting.
func (p *Planner) Forecast(s *Snapshot, q *Queue) map[job.ID]Instant {
	var waiting []*entry
	for _, id := range p.Ordered(s, q, maxForecast) {
		if e := q.entries[id]; !e.bounded() {
			waiting = append(waiting, e)
		}
	}
	later := *s
	p.s = &later
	defer func() { p.s = s }()
	p.releases()
	f := forecast{Planner: p, begun: s.Now, ends: slices.Clone(p.ends), starts: map[job.ID]Instant{}}
	for len(waiting) > 0 {
		f.begin(waiting)
		waiting = slices.DeleteFunc(waiting, f.forecastStart)
		if len(f.ends) == 0 {
			break
		}
		slices.SortStableFunc(f.ends, byTime)
		n := 0
		for later.Now = f.ends[0].at; n < len(f.ends) && f.ends[n].at == later.Now; n++ {
			p.now.comeBack(&f.ends[n])
		}
		f.ends = slices.Delete(f.ends, 0, n)
	}
	return f.starts
}

// bounded reports whether the job waits for others of its owner or array to end,
// of which nothing is forecast.
func (e *entry) bounded() bool {
	return e.Throttle != nil && e.Throttle.Left <= 0 || e.bucket.account.capped(&e.bucket.shape.needs)
}

// begin drops what was found out and kept at the moment before.
func (f *forecast) begin(waiting []*entry) {
	f.Planner.ends = append(f.Planner.ends[:0], f.ends...)
	f.backfill, f.store = f.backfill[:0], f.store[:0]
	f.changed()
	f.beginRights()
	for _, e := range waiting {
		f.open(e.bucket.shape.footprint)
		e.bucket.shape.refused = e.bucket.shape.refused[:0]
	}
}

// forecastStart starts the job at the moment of the look if it fits, or keeps GPUs
// for it, and reports whether it is done with the job.
func (f *forecast) forecastStart(e *entry) bool {
	c := f.cursor(e.bucket, e)
	q := c.query(f.s.Now, whenAhead)
	mask := f.delayed(&c)
	l, fits := &f.now, !q.shape.refusedAt(mask)
	if fits && mask != 0 {
		l = f.capacityBehind(&q, &f.now, mask)
	}
	if !fits || !f.fits(&q, l) {
		f.block(&c, mask, fits)
		return false
	}
	if f.s.Now == f.begun {
		q.when = whenNow
	}
	if !f.fits(&q, l) {
		return true // a load keeps it, for an unknown time
	}
	grants := slices.Clone(f.choose(&q, l))
	h := hostShare{q.shape.mem, f.cpusFor(q.shape, q.account, l)}
	f.now.take(grants, h)
	for i := range f.backfill {
		if f.delays(&c, &f.backfill[i]) {
			f.backfill[i].rest.take(grants, h)
		}
	}
	end := release{at: f.s.Now.Add(e.bucket.run), grants: grants, host: h, gpu: noGPU}
	f.changed()
	f.ends, f.Planner.ends = append(f.ends, end), append(f.Planner.ends, end)
	f.starts[e.ID] = f.s.Now
	return true
}

// block notes that a job does not fit, and keeps GPUs for it if it is among the
// first of those. News is that its shape does not fit behind these reservations.
func (f *forecast) block(c *cursor, mask uint32, news bool) {
	sh := c.bucket.shape
	if news && len(f.s.Reserved) == 0 {
		sh.refused = append(sh.refused, mask)
	}
	if f.capped(c.bucket) {
		return
	}
	if len(f.backfill) < f.s.Policy.ReservationDepth && !f.hopeless(c.bucket) && !f.reserve(c) {
		sh.hopeless = f.pass
	}
}

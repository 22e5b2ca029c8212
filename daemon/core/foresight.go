package core

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core/foresight"
	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// foresightFor is for how long a forecast is as good as a new one where nothing has
// changed but the time.
const foresightFor = time.Second

// foresights is the last forecast, for the next who asks.
type foresights struct {
	last    *foresight.Foresight
	of      uint64 // the number of changes when it was made
	made    time.Time
	changes uint64
}

// Foresee returns the forecast as of now; nil while no job starts.
func (c *Core) Foresee(now time.Time) *foresight.Foresight {
	if c.gpus.Closed(now) != nil || c.troubles.OfSeveral() {
		return nil
	}
	if f := c.planning.foreseen(now); f != nil {
		return f
	}
	f := c.foreseeAlone(now, nil)
	c.planning.foresee(f, now)
	return f
}

// foreseeAlone makes a forecast for one who asks, with a job that is only tried, if any.
func (c *Core) foreseeAlone(now time.Time, tried *tracked.Job) *foresight.Foresight {
	made := c.planning.Forecast(c.snapshotWithEfforts(now), c.planning.Queue, c.estimateOf(tried))
	return &foresight.Foresight{Forecast: made}
}

// estimateOf says what is expected of run times, also that of a job that is only tried, if any.
func (c *Core) estimateOf(tried *tracked.Job) func(job.ID) *sched.Estimate {
	return func(id job.ID) *sched.Estimate {
		if tried != nil && id == tried.ID {
			return c.estimates.Of(tried)
		}
		return c.estimates.Of(c.jobs.Get(id))
	}
}

// foreseen returns the last forecast, nil where that is not good any more.
func (p *planning) foreseen(now time.Time) *foresight.Foresight {
	k := &p.ahead
	if k.last == nil || k.of != k.changes || now.Before(k.made) || now.Sub(k.made) >= foresightFor {
		return nil
	}
	return k.last
}

// foresee keeps a forecast for the next who asks.
func (p *planning) foresee(f *foresight.Foresight, now time.Time) {
	k := &p.ahead
	if f.Number = 1; k.last != nil {
		f.Number = k.last.Number + 1
	}
	k.last, k.of, k.made = f, k.changes, now
}

// changed notes that a forecast may come out otherwise: a step has planned anew, or there
// is something to record of it.
func (p *planning) changed() { p.ahead.changes++ }

// Prospect is Foresee for who asks what becomes of the GPUs. While no job starts, only that is told
// which is known of those that run.
func (c *Core) Prospect(now time.Time) *foresight.Foresight {
	f := c.Foresee(now)
	if f == nil {
		f = &foresight.Foresight{Forecast: c.planning.Forecast(c.snapshot(now), sched.NewQueue(), c.estimateOf(nil))}
	}
	if f.Scene == nil {
		f.Scene = c.newScene(f.Forecast, now)
	}
	return f
}

func (c *Core) newScene(of *sched.Forecast, now time.Time) *foresight.Scene {
	views, all := c.gpus.GpuViews(now), c.gpus.Closed(now)
	s := &foresight.Scene{Jobs: map[job.ID]job.Stay{}}
	s.Course = job.Course{At: now, Waiting: c.planning.Len(), Closed: all != nil}
	for _, id := range slices.Concat(c.jobs.ActiveIDs(), of.Waiting()) {
		if l := c.jobs.Get(id); l != nil {
			s.Jobs[id] = job.Stay{Job: id, Called: l.Called(), User: l.Owner.User, Name: l.Label.Name}
		}
	}
	for i := range views {
		g := job.GPUCourse{Index: views[i].Index, UUID: views[i].UUID, Name: views[i].Name, State: views[i].State}
		g.Stays = c.asides(i, &views[i], all, now)
		s.Course.GPUs = append(s.Course.GPUs, g)
	}
	return s
}

// asides is what a GPU is for besides jobs.
func (c *Core) asides(at int, v *job.GPUView, all *job.GPUControl, now time.Time) (list []job.Stay) {
	add := func(s job.Stay) {
		s.Milli = job.WholeGPU
		list = append(list, s)
	}
	closed := func(until time.Time, why job.Message) {
		add(job.Stay{Kind: job.StayDrained, From: now, Until: until, Late: until, Detail: why})
	}
	switch {
	case all != nil:
		closed(all.Until, all.Say())
	case v.State == job.GPUPaused || v.State == job.GPUDraining || v.State == job.GPUDrained:
		closed(v.Control.Until, v.StateDetail)
	case v.State.Broken():
		add(job.Stay{Kind: job.StayUnknown, From: now, Detail: v.StateDetail})
	case c.gpus.TakenOutside(at, now):
		add(job.Stay{Kind: job.StayUnknown, From: now, Detail: job.Say("detail/used-outside")})
	}
	for _, r := range c.gpus.Reservations.All() {
		if gpus.Reserves(&r, v.UUID) {
			detail := job.Say("detail/reserved-for", r.For())
			add(job.Stay{Kind: job.StayReserved, From: r.From, Until: r.To, Late: r.To, Detail: detail})
		}
	}
	return list
}

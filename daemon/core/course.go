package core

import (
	"cmp"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// farCourse is how far ahead a course goes: where it is asked for less, the rest serves the next
// who asks.
const farCourse = 7 * 24 * time.Hour

// scene is what a course is told with besides the forecast, as of when it was made.
type scene struct {
	job.Course // its GPUs with all stays but jobs'
	jobs       map[job.ID]job.Stay
	told       bool // those of jobs are there, too
}

// Prospect is Foresee for who asks what becomes of the GPUs. While no job starts, only that is told
// which is known of those that run.
func (c *Core) Prospect(now time.Time) *Foresight {
	f := c.Foresee(now)
	if f == nil {
		f = &Foresight{forecast: c.planning.Forecast(c.snapshot(now), sched.NewQueue(), c.believed(nil))}
	}
	if f.scene == nil {
		f.scene = c.newScene(f.forecast, now)
	}
	return f
}

func (c *Core) newScene(of *sched.Forecast, now time.Time) *scene {
	s := &scene{Course: job.Course{At: now, Waiting: c.planning.Len()}, jobs: map[job.ID]job.Stay{}}
	for _, id := range slices.Concat(c.jobs.activeIDs(), of.Waiting()) {
		if l := c.jobs.get(id); l != nil {
			s.jobs[id] = job.Stay{Job: id, Called: l.job.Called(), User: l.job.Owner.User, Name: l.job.Label.Name}
		}
	}
	views, all := c.gpus.gpuViews(&c.reservations, now), c.gpus.closed(now)
	s.Closed = all != nil
	for i := range views {
		g := job.GPUCourse{Index: views[i].Index, UUID: views[i].UUID, Name: views[i].Name, State: views[i].State}
		g.Stays = c.asides(i, &views[i], all, now)
		s.GPUs = append(s.GPUs, g)
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
	case c.gpus.takenOutside(at, now):
		add(job.Stay{Kind: job.StayUnknown, From: now, Detail: job.Say("detail/used-outside")})
	}
	for _, r := range c.reservations.all() {
		if reserves(&r, v.UUID) {
			detail := job.Say("detail/reserved-for", r.For())
			add(job.Stay{Kind: job.StayReserved, From: r.From, Until: r.To, Late: r.To, Detail: detail})
		}
	}
	return list
}

// takenOutside reports whether a process from outside has an otherwise free GPU.
func (b *gpuBook) takenOutside(at int, now time.Time) bool {
	g := b.schedGPU(b.devices[at], now)
	return g.Occupied && !b.jobs.held(b.devices[at].UUID)
}

// CourseWhile says what becomes of the GPUs while it is asked for; nil: it is not any more.
func (f *Foresight) CourseWhile(asked func() bool) *job.Course {
	s := f.scene
	if s.told {
		return &s.Course
	}
	stays, until, done := f.forecast.Course(asked, farCourse)
	if !done {
		return nil
	}
	out := &s.Course
	out.Until = until.Time()
	for i := range stays {
		for _, grant := range stays[i].Grants {
			g := &out.GPUs[grant.GPU]
			g.Stays = append(g.Stays, s.stay(&stays[i], grant.Milli))
		}
	}
	for i := range out.GPUs {
		slices.SortStableFunc(out.GPUs[i].Stays, func(a, b job.Stay) int {
			return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Job, b.Job))
		})
	}
	s.told = true
	return out
}

// stay is one of a job, with what people call that.
func (s *scene) stay(of *sched.Stay, milli int) job.Stay {
	out := s.jobs[of.Job]
	out.Kind, out.Milli = job.StayPlanned, milli
	out.From, out.Late = of.From.Time(), timeOf(of.Late)
	if of.Runs {
		out.Kind = job.StayRunning
	}
	if of.Known {
		out.Until = timeOf(of.Until)
	}
	return out
}

// timeOf is zero for what never comes.
func timeOf(at sched.Instant) time.Time {
	if at == sched.Never {
		return time.Time{}
	}
	return at.Time()
}

package foresight

import (
	"cmp"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// Foresight is a forecast as of the moment of a question. All share it who ask until
// something changes, or for foresightFor, and it is carried out by those who ask and as far
// as they ask: the core only makes the copies that it needs. It is not the core's any
// more, and must be used by one goroutine at a time.
type Foresight struct {
	Number   uint64 // that of one made later is higher; 0: it is of what was only tried, and of use to nobody else
	Forecast *sched.Forecast
	Scene    *Scene // what a course is told with; nil: none was asked for
}

// Foretell fills in when the job is expected to start, if it waits.
func (f *Foresight) Foretell(v *job.JobView) {
	f.ForetellWhile(func() bool { return true }, v)
}

// ForetellWhile does so while it is asked for, which it returns. What it has found out by then
// is not lost.
func (f *Foresight) ForetellWhile(asked func() bool, v *job.JobView) bool {
	never := slices.ContainsFunc(v.Reasons, func(r job.Reason) bool { return r.Code == job.ReasonTooMuch })
	if f == nil || v.State != job.Queued || never {
		return asked()
	}
	if !f.Forecast.GoOn(asked, v.ID) {
		return false
	}
	r := f.Forecast.Start(v.ID)
	if v.Start.Unknown = r.Unknown; r.Likely > 0 {
		v.Start = startOf(r)
	}
	return true
}

func startOf(r sched.Range) job.ExpectedStart {
	s := job.ExpectedStart{At: r.Likely.Time(), From: r.Early.Time()}
	if r.Latest {
		s.From = time.Time{}
	}
	if r.Late < sched.Never {
		s.By = r.Late.Time()
	}
	return s
}

// Scene is what a course is told with besides the forecast.
type Scene struct {
	Course job.Course          // until it is told, without the stays of jobs
	Jobs   map[job.ID]job.Stay // what people call those of each
	told   bool
}

// CourseWhile says what becomes of the GPUs while it is asked for; nil: it is not any more.
func (f *Foresight) CourseWhile(asked func() bool) *job.Course {
	s := f.Scene
	if s.told {
		return &s.Course
	}
	stays, until, done := f.Forecast.Course(asked, job.Horizon)
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
func (s *Scene) stay(of *sched.Stay, milli int) job.Stay {
	out := s.Jobs[of.Job]
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

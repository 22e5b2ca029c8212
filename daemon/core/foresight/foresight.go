package foresight

import (
	"cmp"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// Foresight is a forecast as of one moment. All readers share it for a second, or until something
// changes. The core only copies its data into the Foresight; the readers compute as much of the
// forecast as they need. Once it is handed out, the core no longer touches it. Only one goroutine
// may use it at a time.
type Foresight struct {
	Number   uint64 // increases with each forecast; 0: not shared, made for a job that is only tried
	Forecast *sched.Forecast
	Scene    *Scene // data for a course; nil if no course was asked for
}

// Foretell fills in when the job is expected to start, provided the job waits.
func (f *Foresight) Foretell(v *job.JobView) {
	f.ForetellWhile(func() bool { return true }, v)
}

// ForetellWhile is like Foretell, but as soon as goOn returns false, ForetellWhile stops and also
// returns false. It keeps what it has computed by then.
func (f *Foresight) ForetellWhile(goOn func() bool, v *job.JobView) bool {
	never := slices.ContainsFunc(v.Reasons, func(r job.Reason) bool { return r.Code == job.ReasonTooMuch })
	if f == nil || v.State != job.Queued || never {
		return goOn()
	}
	if !f.Forecast.Simulate(goOn, v.ID) {
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

// Scene is the data that a course needs in addition to the forecast.
type Scene struct {
	Course job.Course          // without the stays of jobs, until CourseWhile has computed them
	Jobs   map[job.ID]job.Stay // for each job, a stay that contains only its names for people
	told   bool
}

// CourseWhile returns the expected use of the GPUs. If goOn returns false before the use is
// computed, CourseWhile returns nil.
func (f *Foresight) CourseWhile(goOn func() bool) *job.Course {
	s := f.Scene
	if s.told {
		return &s.Course
	}
	stays, until, done := f.Forecast.Course(goOn, job.Horizon)
	if !done {
		return nil
	}
	out := &s.Course
	out.Until = until.Time()
	for i := range stays {
		for _, grant := range stays[i].Grants {
			g := &out.GPUs[grant.GPU]
			g.Stays = append(g.Stays, s.describeStay(&stays[i], grant.Milli))
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

// describeStay returns a job's stay, with the names that people use for the job.
func (s *Scene) describeStay(of *sched.Stay, milli int) job.Stay {
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

// timeOf returns an instant as a time. For Never it returns the zero time.
func timeOf(at sched.Instant) time.Time {
	if at == sched.Never {
		return time.Time{}
	}
	return at.Time()
}

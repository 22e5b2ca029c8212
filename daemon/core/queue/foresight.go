package queue

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/foresight"
	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
	"github.com/gpusched/gpusched/daemon/sched"
)

// forecastMaxAge is the time for which a forecast may be reused if nothing has changed.
const forecastMaxAge = time.Second

// foresights caches the last forecast.
type foresights struct {
	last    *foresight.Foresight
	of      uint64 // the value of the field changes at the time of the forecast
	made    time.Time
	changes uint64
}

// Foresee returns the last forecast if it is still valid, or else a new one.
func (q *Book) Foresee(anew func() *foresight.Foresight, now time.Time) *foresight.Foresight {
	k := &q.ahead
	if k.last != nil && k.of == k.changes && !now.Before(k.made) && now.Sub(k.made) < forecastMaxAge {
		return k.last
	}
	f := anew()
	if f.Number = 1; k.last != nil {
		f.Number = k.last.Number + 1
	}
	k.last, k.of, k.made = f, k.changes, now
	return f
}

// ForeseeAlone makes a forecast and does not keep it. The forecast may include an extra job, which
// is only tried.
func (q *Book) ForeseeAlone(now time.Time, extra *tracked.Job) *foresight.Foresight {
	made := q.Forecast(q.snapshotWithEfforts(now), q.Queue, q.EstimateOf(extra))
	return &foresight.Foresight{Forecast: made}
}

// EstimateOf returns a function that estimates the run times of jobs. One of them may be an extra
// job, which is only tried; nil means none.
func (q *Book) EstimateOf(extra *tracked.Job) func(job.ID) *predict.Estimate {
	return func(id job.ID) *predict.Estimate {
		if extra != nil && id == extra.ID {
			return q.estimates.Of(extra)
		}
		return q.estimates.Of(q.jobs.Get(id))
	}
}

// NoteChange notes that a step has planned or has changed a record, so the next forecast may
// differ.
func (q *Book) NoteChange() { q.ahead.changes++ }

func (q *Book) NewScene(of *sched.Forecast, now time.Time) *foresight.Scene {
	views, all := q.gpus.Views(now), q.gpus.Closed(now)
	s := &foresight.Scene{Jobs: map[job.ID]job.Stay{}}
	s.Course = job.Course{At: now, Waiting: q.Len(), Closed: all != nil}
	add := func(l *tracked.Job) {
		s.Jobs[l.ID] = job.Stay{Job: l.ID, Called: l.Called(), User: l.Owner.User, Name: l.Label.Name}
	}
	for l := range q.jobs.Live() {
		add(l)
	}
	for _, id := range of.Waiting() {
		if l := q.jobs.Get(id); l != nil {
			add(l)
		}
	}
	for i := range views {
		g := job.GPUCourse{Index: views[i].Index, UUID: views[i].UUID, Name: views[i].Name, State: views[i].State}
		g.Stays = q.otherStays(i, &views[i], all, now)
		s.Course.GPUs = append(s.Course.GPUs, g)
	}
	return s
}

// otherStays returns the spans of time in which a GPU is closed to ordinary jobs.
func (q *Book) otherStays(at int, v *job.GPUView, all *job.GPUControl, now time.Time) (list []job.Stay) {
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
	case q.gpus.TakenOutside(at, now):
		add(job.Stay{Kind: job.StayUnknown, From: now, Detail: job.Say("detail/used-outside")})
	}
	if e := q.PlannedEnd(); e != nil {
		add(job.Stay{Kind: job.StayDrained, From: e.At, Until: e.Back(), Late: e.Back(), Detail: e.Say()})
	}
	for _, r := range q.gpus.Reservations.All() {
		if gpus.Reserves(&r, v.UUID) {
			who := r.For()
			detail := job.Say("detail/reserved-for", who)
			add(job.Stay{Kind: job.StayReserved, From: r.From, Until: r.To, Late: r.To, For: &who, Detail: detail})
		}
	}
	return list
}

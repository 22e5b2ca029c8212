package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/foresight"
	"github.com/gpusched/gpusched/daemon/job"
)

// forecaster computes the forecasts that the loop hands out, one at a time and outside the loop.
// Callers that wait for their turn share one forecast, however many they are and whatever changes
// between their questions.
type forecaster struct {
	mu     sync.Mutex           // guards newest
	newest *foresight.Foresight // the newest that anybody asked for; it covers all waiting callers

	turn chan struct{}        // holds one value while a caller has the turn; guards used and the contents of a forecast
	used *foresight.Foresight // by the last caller that had the turn
}

// withForecast returns the job with its expected start, if it waits and a forecast is possible.
func (d *Daemon) withForecast(ctx context.Context, v job.JobView) job.JobView {
	var ahead *foresight.Foresight
	if v.State == job.Queued && d.inbox.ask(ctx, func(c *core.Core, now time.Time) { ahead = c.Foresee(now) }) != nil {
		return v
	}
	return d.ahead.forecast(ctx, ahead, v)
}

func (f *forecaster) forecast(ctx context.Context, ahead *foresight.Foresight, v job.JobView) job.JobView {
	list := []job.JobView{v}
	f.forecastAll(ctx, ahead, list)
	return list[0]
}

// forecastAll fills in the expected starts of jobs, until ctx is done.
func (f *forecaster) forecastAll(ctx context.Context, ahead *foresight.Foresight, list []job.JobView) {
	if ahead == nil {
		return
	}
	f.use(ctx, ahead, func(best *foresight.Foresight) {
		for i := range list {
			if !best.ForetellWhile(func() bool { return ctx.Err() == nil }, &list[i]) {
				return
			}
		}
	})
}

// use calls with when it is the caller's turn, with the forecast or one that is no older. It does
// nothing if ctx is done before.
func (f *forecaster) use(ctx context.Context, ahead *foresight.Foresight, with func(best *foresight.Foresight)) {
	f.see(ahead)
	select {
	case f.turn <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-f.turn }()
	with(f.best(ahead))
}

// Course returns the forecast of the GPUs. Its callers share their turn with those that ask for
// starts.
func (d *Daemon) Course(ctx context.Context) (job.Course, error) {
	var ahead *foresight.Foresight
	if err := d.inbox.ask(ctx, func(c *core.Core, now time.Time) { ahead = c.Prospect(now) }); err != nil {
		return job.Course{}, err
	}
	var course *job.Course
	d.courses.use(ctx, ahead, func(best *foresight.Foresight) {
		course = best.CourseWhile(func() bool { return ctx.Err() == nil })
	})
	if course == nil {
		return job.Course{}, ctx.Err()
	}
	return *course, d.commit.awaitDurable(ctx)
}

// see records a forecast that somebody asked for.
func (f *forecaster) see(ahead *foresight.Foresight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.newest == nil || ahead.Number > f.newest.Number {
		f.newest = ahead
	}
}

// best returns the forecast to use in place of ahead: the last used one unless it is older, else
// the newest.
func (f *forecaster) best(ahead *foresight.Foresight) *foresight.Foresight {
	if ahead.Number == 0 { // the forecast of a dry run
		return ahead
	}
	if f.used == nil || f.used.Number < ahead.Number {
		f.mu.Lock()
		f.used = f.newest
		f.mu.Unlock()
	}
	return f.used
}

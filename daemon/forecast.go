package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/foresight"
	"github.com/gpusched/gpusched/daemon/job"
)

// forecaster computes forecasts outside the loop, because they are slow, and only one at a time.
// Callers that wait for their turn share one forecast, even if the state changes between their
// questions.
type forecaster struct {
	mu     sync.Mutex           // guards newest
	newest *foresight.Foresight // newest forecast that somebody asked for; all waiting callers may use it

	turn chan struct{}        // has one value while a caller has the turn; guards the field used and every forecast
	used *foresight.Foresight // forecast that the last caller used
}

// withForecast adds the expected start to a waiting job, if a forecast is possible.
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

// forecastAll adds the expected starts to jobs, until ctx is done.
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

// use waits for the caller's turn, and then calls fn with the given forecast or a newer one. If ctx
// is done first, fn is not called.
func (f *forecaster) use(ctx context.Context, ahead *foresight.Foresight, fn func(best *foresight.Foresight)) {
	f.noteUse(ahead)
	select {
	case f.turn <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-f.turn }()
	fn(f.pickBest(ahead))
}

// Course returns the forecast of all GPUs. All callers of Course share one queue of turns.
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

// noteUse records that a caller asked for this forecast.
func (f *forecaster) noteUse(ahead *foresight.Foresight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.newest == nil || ahead.Number > f.newest.Number {
		f.newest = ahead
	}
}

// pickBest returns the forecast to use instead of the given one. That is the forecast that the last
// caller used. If that forecast is older than the given one, pickBest returns the newest.
func (f *forecaster) pickBest(ahead *foresight.Foresight) *foresight.Foresight {
	if ahead.Number == 0 { // the given forecast belongs to a dry run
		return ahead
	}
	if f.used == nil || f.used.Number < ahead.Number {
		f.mu.Lock()
		f.used = f.newest
		f.mu.Unlock()
	}
	return f.used
}

package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/foresight"
	"github.com/gpusched/gpusched/daemon/job"
)

// foretelling carries out the forecasts that the loop hands out, one at a time and never on
// the loop, which others wait for. However many ask, and whatever changes
// between their questions, those who wait for their turn share one.
type foretelling struct {
	mu     sync.Mutex           // guards newest
	newest *foresight.Foresight // that anybody has asked of: all who wait for their turn are in it

	turn chan struct{}        // holds one while somebody has the turn: guards used, and what is in a forecast
	used *foresight.Foresight // by the last whose turn it was
}

// foretold is the job with when it is expected to start, if it waits and that can be told.
func (d *Daemon) foretold(ctx context.Context, v job.JobView) job.JobView {
	var ahead *foresight.Foresight
	if v.State == job.Queued && d.inbox.ask(ctx, func(c *core.Core, now time.Time) { ahead = c.Foresee(now) }) != nil {
		return v
	}
	return d.ahead.foretell(ctx, ahead, v)
}

func (f *foretelling) foretell(ctx context.Context, ahead *foresight.Foresight, v job.JobView) job.JobView {
	list := []job.JobView{v}
	f.foretellAll(ctx, ahead, list)
	return list[0]
}

// foretellAll fills in when jobs are expected to start. Who has left is not told.
func (f *foretelling) foretellAll(ctx context.Context, ahead *foresight.Foresight, list []job.JobView) {
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

// use has somebody use a forecast or one that is no older, when it is their turn, unless they leave before.
func (f *foretelling) use(ctx context.Context, ahead *foresight.Foresight, with func(best *foresight.Foresight)) {
	f.see(ahead)
	select {
	case f.turn <- struct{}{}:
	case <-ctx.Done():
		return
	}
	defer func() { <-f.turn }()
	with(f.best(ahead))
}

// Course says what becomes of the GPUs. It shares the turn of those who ask when jobs start, as
// the forecast is the same.
func (d *Daemon) Course(ctx context.Context) (job.Course, error) {
	var ahead *foresight.Foresight
	if err := d.inbox.ask(ctx, func(c *core.Core, now time.Time) { ahead = c.Prospect(now) }); err != nil {
		return job.Course{}, err
	}
	var told *job.Course
	d.courses.use(ctx, ahead, func(best *foresight.Foresight) {
		told = best.CourseWhile(func() bool { return ctx.Err() == nil })
	})
	if told == nil {
		return job.Course{}, ctx.Err()
	}
	return *told, d.commit.settled(ctx)
}

// see takes in a forecast that somebody asked for.
func (f *foretelling) see(ahead *foresight.Foresight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.newest == nil || ahead.Number > f.newest.Number {
		f.newest = ahead
	}
}

// best returns the forecast to use instead of one: that which was used last, if it is not
// older, else the newest.
func (f *foretelling) best(ahead *foresight.Foresight) *foresight.Foresight {
	if ahead.Number == 0 { // it is of what was only tried
		return ahead
	}
	if f.used == nil || f.used.Number < ahead.Number {
		f.mu.Lock()
		f.used = f.newest
		f.mu.Unlock()
	}
	return f.used
}

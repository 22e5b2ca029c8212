package core

import (
	"time"

	"github.com/gpusched/gpusched/daemon/core/foresight"
	"github.com/gpusched/gpusched/daemon/sched"
)

// Foresee returns the forecast as of now, or nil while all starts are held back.
func (c *state) Foresee(now time.Time) *foresight.Foresight {
	if c.gpus.Closed(now) != nil || c.troubles.OfSeveral() {
		return nil
	}
	return c.queue.Foresee(func() *foresight.Foresight { return c.queue.ForeseeAlone(now, nil) }, now)
}

// Prospect returns what Foresee returns, with the data for a course of the GPUs. While all starts
// are held back, it covers only running jobs.
func (c *state) Prospect(now time.Time) *foresight.Foresight {
	f := c.Foresee(now)
	if f == nil {
		f = &foresight.Foresight{Forecast: c.queue.Forecast(c.queue.Snapshot(now), sched.NewQueue(), c.queue.EstimateOf(nil))}
	}
	if f.Scene == nil {
		f.Scene = c.queue.NewScene(f.Forecast, now)
	}
	return f
}

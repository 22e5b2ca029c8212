package daemon

import (
	"context"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/metrics"
)

// Measure adds the scheduler's figures to a page. The number users limits how many users get
// figures of their own. Answers about jobs wait for the disk. Measure does not, so that the figures
// are available even while the disk fails.
func (d *Daemon) Measure(ctx context.Context, p *metrics.Page, users int) error {
	var v job.View
	var census job.Census
	err := d.inbox.ask(ctx, func(c *core.Core, now time.Time) {
		v, census = c.View(job.Query{IDs: []job.ID{}}, now), c.Census(users)
	})
	if err != nil {
		return err
	}
	p.AddView(&v)
	p.AddCensus(&census)
	d.opt.Tally.AddTo(p, &v)
	return nil
}

package daemon

import (
	"context"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// Past returns some of the ended jobs. It includes every change that was acknowledged before the
// call.
func (d *Daemon) Past(ctx context.Context, q job.PastQuery) (job.Past, error) {
	if err := d.commit.awaitDurable(ctx); err != nil {
		return job.Past{}, err
	}
	return d.opt.Store.Past(ctx, q)
}

// Lately counts an account's jobs that ended at the given time or later. It includes every change
// that was acknowledged before the call.
func (d *Daemon) Lately(ctx context.Context, uid int, since time.Time) (job.Lately, error) {
	if err := d.commit.awaitDurable(ctx); err != nil {
		return job.Lately{}, err
	}
	return d.opt.Store.Lately(ctx, uid, since)
}

// Runs calls f for each attempt in the time of the query. It reads the attempts from the store. It
// asks the loop only how much running jobs have used their GPUs since they were last recorded.
func (d *Daemon) Runs(ctx context.Context, q job.RunQuery, f func(*job.Run) error) error {
	var uses map[job.ID][]job.GPUNow
	if err := d.inbox.ask(ctx, func(c *core.Core, _ time.Time) { uses = c.Uses() }); err != nil {
		return err
	}
	if err := d.commit.awaitDurable(ctx); err != nil {
		return err
	}
	return d.opt.Store.Runs(ctx, q, func(r *job.Run) error {
		if now := uses[r.Job]; r.Attempt.EndedAt.IsZero() && len(now) == len(r.Attempt.GPUs) {
			for i := range now {
				r.Attempt.GPUs[i].Use = now[i].GPUUse
			}
		}
		return f(r)
	})
}

// Entitlement returns what a user may use, what the user has now, and what the user has used.
func (d *Daemon) Entitlement(ctx context.Context, uid int) (s job.Entitlement, err error) {
	err = d.inbox.ask(ctx, func(c *core.Core, now time.Time) { s = c.Entitlement(uid, now) })
	if err == nil {
		err = d.commit.awaitDurable(ctx)
	}
	return s, err
}

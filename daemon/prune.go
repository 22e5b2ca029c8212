package daemon

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

const (
	pruneFirst = time.Minute // after the start, which goes first
	pruneEvery = time.Hour
	pruneAfter = 2000 // ended jobs
)

// historyPruner removes the oldest ended jobs, every hour and after many ends.
type historyPruner struct {
	d     *Daemon
	ended atomic.Int64 // since the last removal
	bell  Wakeup
}

func newHistoryPruner(d *Daemon) *historyPruner { return &historyPruner{d: d, bell: d.host.Wakeup()} }

// count records the end of a job.
func (f *historyPruner) count() {
	if f.ended.Add(1) == pruneAfter {
		f.bell.Ring()
	}
}

func (f *historyPruner) run(ctx context.Context) {
	if f.d.opt.Forget == nil {
		return
	}
	due := f.d.host.Now().Add(pruneFirst)
	for ctx.Err() == nil {
		f.bell.Wait(due, ctx.Done())
		if ctx.Err() != nil || f.ended.Load() < pruneAfter && f.d.host.Now().Before(due) {
			continue
		}
		f.ended.Store(0)
		f.prune(ctx)
		due = f.d.host.Now().Add(pruneEvery)
	}
}

func (f *historyPruner) prune(ctx context.Context) {
	n, err := f.d.opt.Forget(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		f.d.log.Warn("forgetting old jobs: tried again later", "err", err)
	case n > 0:
		f.d.log.Info("forgot old jobs", "jobs", n)
		f.d.commit.push(core.Effects{News: []job.Event{{Kind: job.EventForgotten, Count: n}}}, f.d.host.Now(), false)
	}
}

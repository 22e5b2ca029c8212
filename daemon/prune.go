package daemon

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

const (
	pruneFirst = time.Minute // delay after the daemon's start, since other work is more urgent then
	pruneEvery = time.Hour
	pruneAfter = 2000 // number of ended jobs after which old jobs are pruned early
)

// historyPruner removes the oldest ended jobs from the store, every hour and each time many jobs
// have ended.
type historyPruner struct {
	d     *Daemon
	ended atomic.Int64 // number of jobs that have ended since the last removal
	bell  Wakeup
}

func newHistoryPruner(d *Daemon) *historyPruner { return &historyPruner{d: d, bell: d.host.Wakeup()} }

// add counts a job that has ended.
func (f *historyPruner) add() {
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
		f.d.remover.Bell.Ring() // some had directories
		f.d.commit.push(core.Effects{News: []job.Event{{Kind: job.EventForgotten, Count: n}}}, f.d.host.Now(), false)
	}
}

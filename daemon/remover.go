package daemon

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/retry"
)

const (
	removalsAtOnce   = 8
	directoriesRead  = 100
	removeAgain      = time.Minute // after the first failure
	lastRemovalIn    = 12 * time.Hour
	removalFailures  = 16 // five days
	lookForForgotten = time.Hour
)

// remover removes the directories of jobs that nobody needs any more (job.Directory). The state file
// says which: what a daemon that was killed had begun, the next one does again.
type remover struct {
	d    *Daemon
	bell Wakeup
	mu   sync.Mutex // guards busy
	busy []job.Directory
}

func (r *remover) run(ctx context.Context) {
	for r.d.opt.Remove != nil && ctx.Err() == nil {
		r.bell.Wait(r.begin(ctx), ctx.Done())
	}
}

// begin begins the removals that are due. It returns when to look again. The end of a removal rings
// the bell.
func (r *remover) begin(ctx context.Context) (next time.Time) {
	now := r.d.host.Now()
	next = now.Add(lookForForgotten)
	list, err := r.d.opt.Store.Directories(ctx, directoriesRead)
	if err != nil && ctx.Err() == nil {
		r.d.log.Warn("reading which directories to remove, will try again", "err", err)
	}
	for i := range list {
		d := &list[i]
		switch {
		case d.Due.After(now):
			return job.Earlier(next, d.Due)
		case r.admit(d):
			r.d.workers.Go(func() { r.remove(ctx, d) })
		}
	}
	return next
}

// admit reports whether a removal may begin now.
func (r *remover) admit(d *job.Directory) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.busy) >= removalsAtOnce || slices.ContainsFunc(r.busy, d.Is) {
		return false
	}
	r.busy = append(r.busy, *d)
	return true
}

// remove removes a directory, and puts on record that it is gone or when to try again.
func (r *remover) remove(ctx context.Context, d *job.Directory) {
	err := r.d.opt.Remove(ctx, d)
	now := r.d.host.Now()
	switch {
	case err == nil:
		d.Gone = true
	case ctx.Err() != nil: // the next daemon removes it
	default:
		d.Failures++
		d.Due, d.Gone = now.Add(retry.After(d.Failures, removeAgain, lastRemovalIn)), d.Failures >= removalFailures
		r.d.log.Warn("removing a directory of a job", "job", d.Job, "uid", d.UID, "path", d.Path, "given_up", d.Gone, "err", err)
	}
	if ctx.Err() == nil {
		r.d.commit.push(core.Effects{Records: []job.Record{{Directory: d}}}, now, false)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy = slices.DeleteFunc(r.busy, d.Is)
}

package removal

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/retry"
)

const (
	atOnce           = 8
	directoriesRead  = 100
	again            = time.Minute // after the first failure
	lastAgain        = 12 * time.Hour
	mostFailures     = 20 // five days
	lookForForgotten = time.Hour
)

// Remover removes directories.
type Remover struct {
	Log  *slog.Logger
	Now  func() time.Time
	Go   func(func())
	Bell interface { // rings when a record of a directory was stored
		Ring()
		Wait(until time.Time, stops ...<-chan struct{})
	}
	Read   func(ctx context.Context, n int) ([]job.Directory, error) // see daemon.Store
	Remove func(ctx context.Context, d *job.Directory) error         // nil: all directories stay
	Record func(*job.Directory)                                      // stores what became of a directory

	mu   sync.Mutex // guards busy
	busy []job.Directory
}

// Run removes directories until ctx is done.
func (r *Remover) Run(ctx context.Context) {
	for r.Remove != nil && ctx.Err() == nil {
		r.Bell.Wait(r.begin(ctx), ctx.Done())
	}
}

// begin begins the removals that are due. It returns when to look again. The end of a removal rings
// the bell.
func (r *Remover) begin(ctx context.Context) (next time.Time) {
	now := r.Now()
	next = now.Add(lookForForgotten)
	list, err := r.Read(ctx, directoriesRead)
	if err != nil && ctx.Err() == nil {
		r.Log.Warn("reading which directories to remove, will try again", "err", err)
	}
	for i := range list {
		d := &list[i]
		switch {
		case d.Due.After(now):
			return job.Earlier(next, d.Due)
		case r.admit(d):
			r.Go(func() { r.remove(ctx, d) })
		}
	}
	return next
}

// admit reports whether a removal may begin now.
func (r *Remover) admit(d *job.Directory) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.busy) >= atOnce || slices.ContainsFunc(r.busy, d.Is) {
		return false
	}
	r.busy = append(r.busy, *d)
	return true
}

// remove removes a directory, and puts on record that it is gone or when to try again.
func (r *Remover) remove(ctx context.Context, d *job.Directory) {
	err := r.Remove(ctx, d)
	now := r.Now()
	switch {
	case err == nil:
		d.Gone = true
	case ctx.Err() != nil: // the next daemon removes it
	default:
		d.Failures++
		d.Due, d.Gone = now.Add(retry.After(d.Failures, again, lastAgain)), d.Failures >= mostFailures
		r.Log.Warn("removing a directory of a job", "job", d.Job, "uid", d.UID, "path", d.Path, "given_up", d.Gone, "err", err)
	}
	r.mu.Lock()
	r.busy = slices.DeleteFunc(r.busy, d.Is)
	r.mu.Unlock()
	if ctx.Err() == nil { // the record rings the bell, so that a removal that waited can begin
		r.Record(d)
	}
}

package daemon

import (
	"context"
	"log/slog"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
)

// The way of a job from its request to its command and back, as the log has it at its
// level debug: of each step the job and when it was, by the clock of the machine.
const (
	stepAccepted = "accepted" // the request is read and checked
	stepDecided  = "decided"  // the core has placed the job
	stepWritten  = "written"  // that is on disk
	stepLooked   = "looked"   // its GPUs were looked at since
	stepBegun    = "begun"    // the start of its unit, which waited for both
	stepPrepared = "prepared" // its instructions are written
	stepStarted  = "started"  // the unit runs
	stepEnded    = "ended"    // it is known how the command ended
	stepKept     = "kept"     // that is on disk
	stepGone     = "gone"     // the unit is collected
	stepFreed    = "freed"    // the end of the job is decided, and its GPUs are to be looked at
	stepOver     = "over"     // that is on disk, with how the command ended where that was not
)

// mark reports a step where somebody wants to know.
func (d *Daemon) mark(id job.ID, step string, at time.Time) {
	if id != 0 && d.log.Enabled(context.Background(), slog.LevelDebug) {
		d.log.Debug("step of a job", "job", id, "step", step, "at", at.UnixMicro())
	}
}

// marked is a context in which systemd's steps for a job are reported, too.
func (d *Daemon) marked(ctx context.Context, id job.ID) context.Context {
	if !d.log.Enabled(ctx, slog.LevelDebug) {
		return ctx
	}
	return context.WithValue(ctx, units.MarkKey{}, func(step string) { d.mark(id, step, d.host.Now()) })
}

// markBatches reports what has come to disk, and when it was decided.
func (d *Daemon) markBatches(batches []batch) {
	if !d.log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	now := d.host.Now()
	for i := range batches {
		b := &batches[i]
		for n := range b.effects.Records {
			d.markRecord(b.effects.Records[n].Job, b.at, now)
		}
		for _, a := range b.effects.Actions {
			if s, ok := a.(core.Start); ok && !s.Looked.IsZero() {
				d.mark(s.Job.ID, stepLooked, s.Looked)
			}
		}
	}
}

func (d *Daemon) markRecord(j *job.Job, decided, written time.Time) {
	switch {
	case j == nil:
	case j.State == job.Starting:
		d.mark(j.ID, stepDecided, decided)
		d.mark(j.ID, stepWritten, written)
	case j.State == job.Ending:
		d.mark(j.ID, stepEnded, decided)
		d.mark(j.ID, stepKept, written)
	case j.State.Terminal():
		d.mark(j.ID, stepFreed, decided)
		d.mark(j.ID, stepOver, written)
	}
}

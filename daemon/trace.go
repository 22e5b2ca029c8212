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

// trace writes these steps to the log.
type trace struct {
	host Runtime
	log  *slog.Logger
}

// mark reports a step where somebody wants to know.
func (t trace) mark(id job.ID, step string, at time.Time) {
	if id != 0 && t.log.Enabled(context.Background(), slog.LevelDebug) {
		t.log.Debug("step of a job", "job", id, "step", step, "at", at.UnixMicro())
	}
}

// context is a context in which systemd's steps for a job are reported, too.
func (t trace) context(ctx context.Context, id job.ID) context.Context {
	if !t.log.Enabled(ctx, slog.LevelDebug) {
		return ctx
	}
	return context.WithValue(ctx, units.MarkKey{}, func(step string) { t.mark(id, step, t.host.Now()) })
}

// batches reports what has come to disk, and when it was decided.
func (t trace) batches(batches []batch) {
	if !t.log.Enabled(context.Background(), slog.LevelDebug) {
		return
	}
	now := t.host.Now()
	for i := range batches {
		b := &batches[i]
		for n := range b.effects.Records {
			t.record(b.effects.Records[n].Job, b.at, now)
		}
		for _, a := range b.effects.Actions {
			if s, ok := a.(core.Start); ok && !s.Looked.IsZero() {
				t.mark(s.Job.ID, stepLooked, s.Looked)
			}
		}
	}
}

func (t trace) record(j *job.Job, decided, written time.Time) {
	switch {
	case j == nil:
	case j.State == job.Starting:
		t.mark(j.ID, stepDecided, decided)
		t.mark(j.ID, stepWritten, written)
	case j.State == job.Ending:
		t.mark(j.ID, stepEnded, decided)
		t.mark(j.ID, stepKept, written)
	case j.State.Terminal():
		t.mark(j.ID, stepFreed, decided)
		t.mark(j.ID, stepOver, written)
	}
}

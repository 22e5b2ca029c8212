package daemon

import (
	"context"
	"log/slog"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
)

// The steps of a job from its request to its end. At level debug, each is logged with the job and
// the time in microseconds.
const (
	stepAccepted = "accepted" // the request has been read and validated
	stepDecided  = "decided"  // the core has decided on the job's GPUs
	stepWritten  = "written"  // the placement is on disk
	stepLooked   = "looked"   // the job's GPUs have been sampled since the placement
	stepBegun    = "begun"    // the start of the unit begins, after the steps written and looked
	stepPrepared = "prepared" // the launcher's spec is written
	stepStarted  = "started"  // the unit runs
	stepEnded    = "ended"    // the daemon knows how the command ended
	stepKept     = "kept"     // the end of the command is on disk
	stepGone     = "gone"     // the unit has been collected
	stepFreed    = "freed"    // the core has ended the job, and asks for a sample of the job's GPUs
	stepOver     = "over"     // the end of the job is on disk
)

// trace logs the steps of jobs.
type trace struct {
	host Runtime
	log  *slog.Logger
}

// mark logs a step if the log level is debug.
func (t trace) mark(id job.ID, step string, at time.Time) {
	if id != 0 && t.log.Enabled(context.Background(), slog.LevelDebug) {
		t.log.Debug("step of a job", "job", id, "step", step, "at", at.UnixMicro())
	}
}

// contextFor returns a context with which units/systemd also logs its own steps for the job.
func (t trace) contextFor(ctx context.Context, id job.ID) context.Context {
	if !t.log.Enabled(ctx, slog.LevelDebug) {
		return ctx
	}
	return context.WithValue(ctx, units.MarkKey{}, func(step string) { t.mark(id, step, t.host.Now()) })
}

// logBatches logs the steps that are now on disk, each with the time of the core's decision.
func (t trace) logBatches(batches []batch) {
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
			if s, ok := a.(core.Start); ok && !s.SampledAt.IsZero() {
				t.mark(s.Job.ID, stepLooked, s.SampledAt)
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

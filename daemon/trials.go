package daemon

import (
	"context"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/foresight"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/slots"
)

// maxTrial limits the time to try changes of one job. After that time, the changes found so far are
// returned.
const maxTrial = 500 * time.Millisecond

// A trialRunner finds changes that would start a job sooner. Trials run outside the loop, one at a
// time. At most one request per person waits for a turn, so that a person who asks often delays
// others by only one trial.
type trialRunner struct {
	persons slots.Slots[int]
	turn    chan struct{} // has one value while a caller has the turn
}

// Explain returns which jobs are ahead of a job. If withTrials is true, it also returns the changes
// that would start the job sooner.
func (d *Daemon) Explain(ctx context.Context, id job.ID, person int, withTrials bool) (job.Explained, error) {
	var out job.Explained
	var trial *foresight.Trial
	waits := false
	err := d.inbox.ask(ctx, func(c *core.Core, now time.Time) {
		if out, waits = c.Explained(id, now); waits && withTrials {
			trial = c.Trial(id, now)
		}
	})
	if err == nil {
		err = d.commit.awaitDurable(ctx)
	}
	if err != nil || trial == nil {
		return out, err
	}
	leave, err := d.trials.persons.Enter(ctx, person, 1)
	if err != nil {
		return out, err
	}
	defer leave()
	if !d.ahead.begin(ctx, trial) {
		return out, ctx.Err()
	}
	select {
	case d.trials.turn <- struct{}{}:
	case <-ctx.Done():
		return out, ctx.Err()
	}
	defer func() { <-d.trials.turn }()
	began := d.host.Now()
	asked := func() bool { return ctx.Err() == nil && d.host.Now().Sub(began) < maxTrial }
	out.Sooner, out.Tried = trial.TriedWhile(asked)
	out.Took = d.host.Now().Sub(began)
	return out, ctx.Err()
}

// begin computes when the job starts if nothing is changed.
func (f *forecaster) begin(ctx context.Context, t *foresight.Trial) bool {
	began := false
	f.use(ctx, t.Ahead, func(best *foresight.Foresight) {
		began = t.BeginWhile(func() bool { return ctx.Err() == nil }, best)
	})
	return began
}

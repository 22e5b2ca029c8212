package daemon

import (
	"context"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/foresight"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/slots"
)

// maxTrial is how long the changes of one job are tried at most: what is found by then is told.
const maxTrial = 500 * time.Millisecond

// trials are what would have a job start sooner. They are made one at a time, and never by the
// loop; of each person one at most waits for its turn, so that whoever asks very often has others
// wait for one trial of theirs.
type trials struct {
	persons slots.Slots[int]
	turn    chan struct{} // holds one while somebody has the turn
}

// Explain says what goes before a job and, with tries, what would have it start sooner.
func (d *Daemon) Explain(ctx context.Context, id job.ID, person int, tries bool) (job.Explained, error) {
	var out job.Explained
	var trial *foresight.Trial
	waits := false
	err := d.inbox.ask(ctx, func(c *core.Core, now time.Time) {
		if out, waits = c.Explained(id, now); waits && tries {
			trial = c.Trial(id, now)
		}
	})
	if err == nil {
		err = d.commit.settled(ctx)
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

// begin finds out when the job of a trial starts as it is.
func (f *foretelling) begin(ctx context.Context, t *foresight.Trial) bool {
	began := false
	f.use(ctx, t.Ahead, func(best *foresight.Foresight) {
		began = t.BeginWhile(func() bool { return ctx.Err() == nil }, best)
	})
	return began
}

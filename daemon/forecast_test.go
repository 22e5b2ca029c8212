package daemon

import (
	"context"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/foresight"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
)

// A waiting caller gets the forecast that another caller used, unless that forecast is older than
// the caller's question. In that case the caller gets the newest forecast. The forecast of a dry
// run is not shared.
func TestWaitingCallersShareAForecast(t *testing.T) {
	c, now := core.New(site.Policy{}, "boot", job.Restored{}), time.Unix(1_700_000_000, 0)
	made := make([]*foresight.Foresight, 4)
	for i := range made {
		made[i] = c.Foresee(now.Add(time.Duration(i) * time.Hour))
	}
	var f forecaster
	for i, step := range []struct{ asked, seen, want int }{
		{asked: 0, seen: 1, want: 1}, {asked: 1, seen: 2, want: 1}, {asked: 2, seen: 3, want: 3}, {asked: 2, seen: 2, want: 3},
	} {
		f.noteUse(made[step.asked])
		f.noteUse(made[step.seen])
		if got := f.pickBest(made[step.asked]); got != made[step.want] {
			t.Errorf("%d: forecast %d, want %d", i, got.Number, made[step.want].Number)
		}
	}
	tried := &foresight.Foresight{}
	if f.noteUse(tried); f.pickBest(tried) != tried || f.pickBest(made[3]) != made[3] {
		t.Error("what was only tried is shared")
	}
}

// A caller that gives up stops waiting for its turn. If it already has the turn, it frees the turn.
func TestCallerThatLeavesFreesItsTurn(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	leave()
	c, f := core.New(site.Policy{}, "boot", job.Restored{}), forecaster{turn: make(chan struct{}, 1)}
	ahead := c.Foresee(time.Unix(1_700_000_000, 0))
	f.turn <- struct{}{}
	v := job.JobView{Job: job.Job{ID: 1, State: job.Queued}}
	f.forecast(ctx, ahead, v)
	<-f.turn
	f.forecast(ctx, ahead, v)
	if len(f.turn) > 0 {
		t.Error("the turn is kept")
	}
}

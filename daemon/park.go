package daemon

import (
	"context"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/units"
)

// Park carries out the action core.Park, or core.Unpark if the argument back is set, on a running
// unit. The argument frozen says whether the unit is frozen now. Park also returns the driver's
// word and how long the driver copied.
type Park func(ctx context.Context, a core.Park, back, frozen bool) (core.ParkEnd, string, time.Duration)

// park parks a job, or undoes that. It does nothing if the job's unit is gone, has ended or was
// restarted by hand: that is reported by other means.
func (x *executor) park(ctx context.Context, a core.Park, back bool) core.Parked {
	p := core.Parked{Job: a.Job, Attempt: a.Attempt, End: core.ParkUnsure}
	seen, another := x.inspectUnit(ctx, core.Inspect{Job: a.Job, Attempt: a.Attempt, Whose: a.Whose})
	switch {
	case !seen.OK || another || seen.Unit.Phase != core.Active || seen.Unit.Invocation != a.Whose.Invocation:
		return p
	case x.opt.Park == nil:
		p.End, p.Says = core.ParkRefused, "there is no program for it"
		return p
	}
	p.End, p.Says, p.Took = x.opt.Park(ctx, a, back, seen.Unit.Frozen)
	if (p.End == core.ParkUnsure || p.End == core.ParkFailed) && p.Says != "" && ctx.Err() == nil {
		x.log.Warn("parking or unparking a job, will try again", "job", a.Job, "unit", units.Name(int64(a.Job)), "back", back, "err", p.Says)
	}
	if back && p.End == core.ParkRefused {
		x.log.Warn("a parked job can't move to other GPUs, and waits for its own", "job", a.Job, "why", p.Says)
	}
	return p
}

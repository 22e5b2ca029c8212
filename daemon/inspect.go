package daemon

import (
	"context"
	"errors"
	"log/slog"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/units"
)

// isAnothersNow reads a unit. It reports whether the unit exists but does not belong to the job
// that w describes.
func (x *executor) isAnothersNow(ctx context.Context, name string, w core.Whose) (another bool, err error) {
	if x.opt.Origin == nil {
		return false, nil
	}
	ctx, cancel := x.host.Timeout(ctx, statusTime)
	defer cancel()
	st, err := x.opt.Units.Status(ctx, name)
	if err != nil {
		return false, err
	}
	return x.isAnothers(ctx, &st, w)
}

// reportUnread logs that a unit could not be read. If the bus itself fails, the log level is only
// info, because health reports the failure.
func (x *executor) reportUnread(name string, err error) {
	level := slog.LevelWarn
	if errors.Is(err, units.ErrBus) {
		level = slog.LevelInfo
	}
	x.log.Log(context.Background(), level, "reading a unit, will try again", "unit", name, "err", err)
}

// isAnothers reports whether a unit that has a job's name does not belong to that job. A unit whose
// invocation id differs from the recorded one may still belong to the job, because a late start may
// have made the unit.
func (x *executor) isAnothers(ctx context.Context, st *units.Status, w core.Whose) (bool, error) {
	if st.InvocationID == "" || st.InvocationID == w.Invocation || x.opt.Origin == nil {
		return false, nil
	}
	o, err := x.opt.Origin(ctx, st.Name)
	if errors.Is(err, units.ErrAbsent) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	attempt, by := judgeOrigin(st.Name, &o, w.UID)
	if by == "" && attempt < w.Attempt {
		return true, nil // a late call of a dead daemon made this unit for an earlier attempt
	}
	if by != "" {
		x.log.Warn("leaving a unit alone that has a job's name and is not its own", "unit", st.Name, "err", by)
	}
	return by != "", nil
}

func (x *executor) inspect(ctx context.Context, a core.Inspect) core.Inspected {
	seen, _ := x.inspectUnit(ctx, a)
	return seen
}

// inspectUnit is like inspect, and also reports whether the unit belongs to somebody else.
func (x *executor) inspectUnit(ctx context.Context, a core.Inspect) (seen core.Inspected, another bool) {
	ctx, cancel := x.host.Timeout(ctx, statusTime)
	defer cancel()
	look := x.helpers.inspect(a.Job)
	defer x.helpers.done(look)
	seen = core.Inspected{Job: a.Job, Attempt: a.Attempt, Early: a.Early}
	st, err := x.opt.Units.Status(ctx, units.Name(int64(a.Job)))
	if err == nil {
		another, err = x.isAnothers(ctx, &st, a.Whose)
	}
	if err != nil {
		x.reportUnread(units.Name(int64(a.Job)), err)
		return seen, false
	}
	if another {
		seen.Unit, seen.OK = core.Unit{Job: a.Job}, true
		return seen, true
	}
	if mayBeShutdown(&st) && x.shutdown.isUnderway(ctx) {
		return seen, false
	}
	u := x.convert(st)
	u.Job, u.Spent = a.Job, u.Spent && !look.wasDisturbed()
	if u.Phase == core.Active && x.unsure.CompareAndSwap(int64(a.Job), 0) {
		x.starting.note(nil, x.host.Now()) // the start worked; only its answer was lost
	}
	seen.Unit, seen.OK = u, true
	return seen, false
}

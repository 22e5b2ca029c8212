package daemon

import (
	"context"
	"errors"
	"log/slog"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/units"
)

// anothersNow reports whether the unit of that name is there and is another's.
func (x *executor) anothersNow(ctx context.Context, name string, w core.Whose) (another bool, err error) {
	if x.opt.Origin == nil {
		return false, nil
	}
	ctx, cancel := x.host.Timeout(ctx, statusTime)
	defer cancel()
	st, err := x.opt.Units.Status(ctx, name)
	if err != nil {
		return false, err
	}
	return x.anothers(ctx, &st, w)
}

// reportUnread logs that it could not be read what a unit is; health reports where the bus stays away.
func (x *executor) reportUnread(name string, err error) {
	level := slog.LevelWarn
	if errors.Is(err, units.ErrBus) {
		level = slog.LevelInfo
	}
	x.log.Log(context.Background(), level, "reading a unit, will try again", "unit", name, "err", err)
}

// anothers reports whether a unit is not the job's whose name it has. One of another
// invocation than is on record may still be: a start that came late made it.
func (x *executor) anothers(ctx context.Context, st *units.Status, w core.Whose) (bool, error) {
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
	attempt, by := takenBy(st.Name, &o, w.UID)
	if by == "" && attempt < w.Attempt {
		return true, nil // a call of a daemon that died made it
	}
	if by != "" {
		x.log.Warn("leaving a unit alone that has a job's name and is not its own", "unit", st.Name, "err", by)
	}
	return by != "", nil
}

func (x *executor) inspect(ctx context.Context, a core.Inspect) core.Inspected {
	seen, _ := x.look(ctx, a)
	return seen
}

// look is inspect, and reports whether the unit of that name is another's.
func (x *executor) look(ctx context.Context, a core.Inspect) (seen core.Inspected, another bool) {
	ctx, cancel := x.host.Timeout(ctx, statusTime)
	defer cancel()
	look := x.helpers.inspect(a.Job)
	defer x.helpers.done(look)
	seen = core.Inspected{Job: a.Job, Attempt: a.Attempt, Early: a.Early}
	st, err := x.opt.Units.Status(ctx, units.Name(int64(a.Job)))
	if err == nil {
		another, err = x.anothers(ctx, &st, a.Whose)
	}
	if err != nil {
		x.reportUnread(units.Name(int64(a.Job)), err)
		return seen, false
	}
	if another {
		seen.Unit, seen.OK = core.Unit{Job: a.Job}, true
		return seen, true
	}
	if swept(&st) && x.shutdown.underway(ctx) {
		return seen, false
	}
	u := x.unitOf(st)
	u.Job, u.Spent = a.Job, u.Spent && !look.disturbed()
	if u.Phase == core.Active && x.unsure.CompareAndSwap(int64(a.Job), 0) {
		x.starting.note(nil, x.host.Now()) // it was started, only the answer got lost
	}
	seen.Unit, seen.OK = u, true
	return seen, false
}

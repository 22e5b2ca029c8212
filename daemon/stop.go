package daemon

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
)

func (x *executor) stop(ctx context.Context, a core.Stop) core.Event {
	ctx, cancel := x.host.Timeout(ctx, a.Grace+stopSurplus)
	defer cancel()
	ev := core.Stopped{Job: a.Job, Attempt: a.Attempt}
	name := units.Name(int64(a.Job))
	if early := a.Thaw || len(a.Notice.Say) > 0; early || !a.InspectFirst { // otherwise inspectUnit below finds the owner
		another, err := x.isAnothersNow(ctx, name, a.Whose)
		if err != nil {
			x.reportUnread(name, err)
		}
		if another || err != nil {
			return x.nothingToStop(a, another)
		}
	}
	if a.Thaw {
		x.thaw(ctx, a.Job)
	}
	x.notifyOwner(ctx, a.Notice, farewellTime) // before inspectUnit, so that the stop follows the inspection directly
	if a.InspectFirst {
		before, another := x.inspectUnit(ctx, core.Inspect{Job: a.Job, Attempt: a.Attempt, Whose: a.Whose})
		if another {
			return x.nothingToStop(a, true)
		}
		if ev.Before = before.Unit; !before.OK || ev.Before.Phase == core.Exited {
			return ev
		}
	}
	if !a.InspectFirst {
		ev.Running = x.leftRunning(a)
	}
	looked := x.host.Now()
	// Remove the spec before the unit. While this unit exists, systemd refuses to make a second
	// one. If a late call of a dead daemon makes a unit afterwards, that unit finds no spec and
	// runs nothing.
	x.removeSpec(a.Job, a.Attempt)
	err := x.opt.Units.Stop(ctx, name)
	if err != nil && ctx.Err() == nil {
		x.log.Warn("stopping a unit, will try again", "job", a.Job, "unit", name, "err", err)
	}
	if errors.Is(err, units.ErrProcesses) {
		ev.Left = x.describeSurvivors(ctx, a.Job)
	}
	ev.OK, ev.Before.Old = err == nil, x.host.Now().Sub(looked)
	x.trace.mark(a.Job, stepGone, x.host.Now())
	return ev
}

// nothingToStop answers a stop that has touched no unit. If the unit belongs to somebody else, the
// job has no unit, and the stop is done. If the owner of the unit could not be read, the stop is
// tried again.
func (x *executor) nothingToStop(a core.Stop, another bool) core.Event {
	if another {
		x.removeSpec(a.Job, a.Attempt)
		x.trace.mark(a.Job, stepGone, x.host.Now())
	}
	return core.Stopped{Job: a.Job, Attempt: a.Attempt, OK: another}
}

// collectAfter is the time for which the unit of an ended job is kept. During that time, systemd
// can already start the next job on the same GPUs.
const collectAfter = 20 * time.Millisecond

// collect removes a unit whose result is on record.
func (x *executor) collect(ctx context.Context, a core.Collect) {
	name := units.Name(int64(a.Job))
	if a.Listings == 0 && !pause(ctx, x.host, collectAfter) || a.Listings > 0 && !x.endIsStored(ctx, a) {
		return
	}
	ctx, cancel := x.host.Timeout(ctx, stopSurplus)
	defer cancel()
	if a.Listings > 0 { // processes that are left after the end of their job get no grace
		err := x.opt.Units.Kill(ctx, name, int(syscall.SIGKILL), units.All)
		if err != nil && !errors.Is(err, units.ErrAbsent) {
			x.log.Warn("killing the remaining processes of an ended job, will try again", "job", a.Job, "unit", name, "err", err)
		}
	}
	if err := x.opt.Units.Stop(ctx, name); err != nil {
		x.log.Warn("collecting the unit of an ended job, will try again", "job", a.Job, "unit", name, "err", err)
	}
}

// endIsStored reports whether the end of a unit's job is stored.
func (x *executor) endIsStored(ctx context.Context, a core.Collect) bool {
	ends, err := x.opt.Store.Ends(ctx, []job.ID{a.Job})
	if err != nil {
		x.log.Warn("looking for the end of a job that has a unit, will try again", "job", a.Job, "err", err)
		return false
	}
	_, ended := ends[a.Job]
	if !ended && a.Listings >= core.ReportedAt { // Listings is above ReportedAt if the store failed earlier
		x.reportOrphan(a.Job)
	}
	return ended
}

// thaw resumes a suspended job before it is stopped, so that the job can use its grace.
// If that fails, the stop still works.
func (x *executor) thaw(ctx context.Context, id job.ID) {
	ctx, cancel := x.host.Timeout(ctx, statusTime)
	defer cancel()
	if err := x.opt.Units.Freeze(ctx, units.Name(int64(id)), false); err != nil && !errors.Is(err, units.ErrAbsent) {
		x.log.Warn("letting a suspended job go on before its stop", "job", id, "err", err)
	}
}

package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
)

// Time limits for answers from systemd. An answer that comes later counts as missing.
const (
	startTime   = 90 * time.Second
	statusTime  = 10 * time.Second
	stopSurplus = 2 * time.Minute // time for a stop in addition to the job's grace
)

// executor carries out the actions of the core. Most of them start, stop,
// inspect or signal the units of jobs.
type executor struct {
	opt       *Options
	host      Runtime
	log       *slog.Logger
	settings  *atomic.Pointer[Settings]
	inbox     *inbox
	trace     trace
	directory *directory
	shutdown  *shutdown
	workers   *group
	damaged   func(error) error // Daemon.restartIfDamaged

	helpers  unitHelpers
	launcher launcherDoubt
	starting lastFailure  // error of the last start
	unsure   atomic.Int64 // newest job whose start had an unknown outcome
	orphans  sync.Map     // units without a job that were already reported, by the id in their name
}

// perform begins an action after its records have been written to disk. A slow action runs in its
// own goroutine, which ends with the action or with ctx.
func (x *executor) perform(ctx context.Context, a core.Action) {
	if x.log.Enabled(ctx, slog.LevelDebug) {
		x.log.Debug("action begun", "action", strings.TrimPrefix(fmt.Sprintf("%T", a), "core."))
	}
	switch a := a.(type) {
	case core.Start:
		x.workers.Go(func() { x.inbox.post(x.start(ctx, a)) })
	case core.Hasten:
		x.workers.Go(func() { x.helpSlowStart(ctx, &a.Job, a.Again) })
	case core.Stop:
		x.workers.Go(func() { x.inbox.post(x.stop(ctx, a)) })
	case core.Inspect:
		x.workers.Go(func() { x.inbox.post(x.inspect(ctx, a)) })
	case core.NotifyOwner:
		x.workers.Go(func() { x.notifyOwner(ctx, a, tellTime) })
	case core.Deliver:
		x.workers.Go(func() { x.inbox.post(x.deliver(ctx, a.Notification)) })
	case core.Prove:
		x.workers.Go(func() { x.inbox.post(x.prove(ctx, a)) })
	case core.Signal:
		x.workers.Go(func() { x.inbox.post(x.warn(ctx, a)) })
	case core.Freeze:
		x.workers.Go(func() { x.freeze(ctx, a) })
	case core.SetMemory:
		x.workers.Go(func() { x.inbox.post(x.setMemory(ctx, a)) })
	case core.Park:
		x.workers.Go(func() { x.inbox.post(x.park(ctx, a, false)) })
	case core.Unpark:
		x.workers.Go(func() { x.inbox.post(core.Unparked(x.park(ctx, core.Park(a), true))) })
	case core.Keep:
		x.keep(a)
	case core.Forget:
		x.removeSpec(a.Job, a.Attempt)
	case core.EndProcess:
		x.endProcess(a)
	case core.TellStranger:
		x.workers.Go(func() { x.inbox.post(x.tellStranger(ctx, &a.Strangers)) })
	case core.Reboot:
		x.workers.Go(func() { x.reboot(ctx, a) })
	case core.Collect:
		x.workers.Go(func() { x.collect(ctx, a) })
	case core.Orphan:
		x.reportOrphan(a.Job)
	}
}

func (x *executor) reportOrphan(id job.ID) {
	if _, before := x.orphans.LoadOrStore(id, true); before {
		return
	}
	x.log.Warn("a unit has a job's name and belongs to no job on record, left alone", "job", id, "unit", units.Name(int64(id)))
}

// removeSpec removes the spec with the launcher's instructions.
func (x *executor) removeSpec(id job.ID, attempt int) {
	if err := x.opt.Specs.Remove(id, attempt); err != nil {
		x.log.Warn("removing a spec", "job", id, "attempt", attempt, "err", err)
	}
}

// endProcess signals one process that has left its job's unit, or that belongs to no job.
// Stopping a unit would not end such a process.
func (x *executor) endProcess(a core.EndProcess) {
	if x.opt.EndProcess == nil {
		return
	}
	level, text := slog.LevelInfo, "signalling a process that left its job's unit or uses another job's GPU"
	if a.Job == 0 {
		text = "signalling a process of no job that uses a job's GPU"
	}
	err := x.opt.EndProcess(a)
	if err != nil {
		level = slog.LevelWarn
	}
	x.log.Log(context.Background(), level, text, "job", a.Job, "uid", a.UID, "pid", a.PID, "signal", a.Signal, "err", err)
}

// rebootTime is the time limit for the calls to logind that begin a reboot.
const rebootTime = 30 * time.Second

// reboot asks for a reboot of the machine, after the daemon's own lock of logind is released.
func (x *executor) reboot(ctx context.Context, a core.Reboot) {
	ctx, cancel := x.host.Timeout(ctx, rebootTime)
	defer cancel()
	err := errors.New("this scheduler can't reboot the machine")
	if x.opt.Reboot != nil {
		x.shutdown.letGo(ctx, true)
		err = x.opt.Reboot(ctx, "reboot by gpusched, for "+a.By)
	}
	if err != nil {
		x.shutdown.letGo(ctx, false)
		x.log.Warn("the machine is drained, but does not reboot; it is asked again every minute", "err", err)
		x.inbox.post(core.RebootRefused{Why: err.Error()})
		return
	}
	x.log.Info("the machine is drained, and was told to reboot", "by", a.By)
}

// freeze suspends or resumes a job. Afterwards the unit is inspected, because two calls may reach
// systemd in reverse order.
func (x *executor) freeze(ctx context.Context, a core.Freeze) {
	ctx, cancel := x.host.Timeout(ctx, statusTime)
	defer cancel()
	if err := x.opt.Units.Freeze(ctx, units.Name(int64(a.Job)), !a.Thaw); err != nil {
		x.log.Warn("suspending or resuming a job, will try again", "job", a.Job, "thaw", a.Thaw, "err", err)
		return
	}
	x.inbox.post(core.Changed{Job: a.Job})
}

// setMemory changes the memory limit of a running job's unit.
func (x *executor) setMemory(ctx context.Context, a core.SetMemory) core.MemorySet {
	ctx, cancel := x.host.Timeout(ctx, statusTime)
	defer cancel()
	err := x.opt.Units.SetMemory(ctx, units.Name(int64(a.Job)), a.Limit, a.High)
	if err != nil {
		x.log.Warn("changing a job's memory limit, will try again", "job", a.Job, "err", err)
	}
	return core.MemorySet{SetMemory: a, OK: err == nil}
}

package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/launch"
)

// How long systemd may take for an answer before it counts as none.
const (
	startTime   = 90 * time.Second
	statusTime  = 10 * time.Second
	stopSurplus = 2 * time.Minute // beyond the job's grace
)

// lookLasts is how old the look at the GPUs may be on which a start rests. A disk that
// is slow, or starts before it, may have held it up for any time.
const lookLasts = SlowAfter

// perform begins an action that waited for its records. What takes time goes on in
// a worker of its own, which ends with its action or with ctx.
func (d *Daemon) perform(ctx context.Context, a core.Action) {
	if d.log.Enabled(ctx, slog.LevelDebug) {
		d.log.Debug("action begun", "action", strings.TrimPrefix(fmt.Sprintf("%T", a), "core."))
	}
	switch a := a.(type) {
	case core.Start:
		d.workers.Go(func() { d.post(d.start(ctx, a)) })
	case core.Hasten:
		d.workers.Go(func() { d.hasten(ctx, &a.Job, a.Again) })
	case core.Stop:
		d.workers.Go(func() { d.post(d.stop(ctx, a)) })
	case core.Inspect:
		d.workers.Go(func() { d.post(d.inspect(ctx, a)) })
	case core.NotifyOwner:
		d.workers.Go(func() { d.notifyOwner(ctx, a, tellTime) })
	case core.Deliver:
		d.workers.Go(func() { d.post(d.deliver(ctx, a.Notification)) })
	case core.Signal:
		d.workers.Go(func() { d.post(d.warn(ctx, a)) })
	case core.Freeze:
		d.workers.Go(func() { d.freeze(ctx, a) })
	case core.Keep:
		d.keep(a)
	case core.Forget:
		d.removeSpec(a.Job, a.Attempt)
	case core.EndProcess:
		d.endProcess(a)
	case core.Collect:
		d.workers.Go(func() { d.collect(ctx, a) })
	case core.Orphan:
		d.reportOrphan(a.Job)
	}
}

// start makes the unit of a job's attempt. Every way out is an event.
func (d *Daemon) start(ctx context.Context, a core.Start) core.Event {
	j := a.Job
	d.mark(j.ID, stepBegun, d.host.Now())
	failed := core.StartFailed{Job: j.ID, Attempt: j.Attempt.Number}
	// Before its account can read anything:
	if d.disowned(&j, &failed) || d.joined(&j, &failed) || d.isBarred(&j, &failed) {
		return failed
	}
	ctx, cancel := d.host.Timeout(ctx, startTime)
	defer cancel()
	spec, err := d.prepare(ctx, &j)
	if detail, never := unprepared(err); never {
		d.log.Error("preparing a start", "job", j.ID, "err", err)
		failed.How, failed.Launch, failed.Detail = core.StartRefused, contract.StepSpec, detail
		return failed
	}
	if err != nil { // systemd has not been asked
		err = d.restartIfDamaged(err)
		d.log.Error("preparing a start, will try again", "job", j.ID, "err", err)
		failed.How, failed.Launch, failed.Detail = core.StartLater, contract.StepSpec, "preparing it: "+err.Error()
		if errors.As(err, new(*launch.RoomError)) { // that is the user's own jobs' doing
			failed.Launch = ""
		}
		return failed
	}
	if !a.Looked.IsZero() && d.host.Now().Sub(a.Looked) > lookLasts {
		d.log.Info("looking at the GPUs of a job again: its start has waited", "job", j.ID, "since", a.Looked)
		failed.How = core.StartStale
		return failed
	}
	d.mark(j.ID, stepPrepared, d.host.Now())
	doubts := d.launcher.doubted(d.opt.LauncherFile)
	spec.Check = doubts > 0 && (j.Request.MemBytes == 0 || j.Request.MemBytes >= leastForCheck)
	look := d.visits.look(j.ID) // a note for its last attempt may be on its way
	defer d.visits.over(look)
	st, err := d.opt.Units.Start(d.marked(ctx, j.ID), units.Name(int64(j.ID)), units.Properties(spec))
	if err == nil {
		d.mark(j.ID, stepStarted, d.host.Now())
		d.starting.note(nil, d.host.Now())
		if spec.Check {
			d.launcher.lives(doubts)
		}
		u := d.unitOf(st)
		u.Spent = u.Spent && !look.disturbed()
		return core.Started{Job: j.ID, Attempt: j.Attempt.Number, Unit: u}
	}
	if errors.Is(err, units.ErrExists) {
		if failed.Detail = d.taken(ctx, &j); failed.Detail != "" {
			d.log.Error("not starting a job: its unit exists and is not its own", "job", j.ID, "unit", units.Name(int64(j.ID)), "err", failed.Detail)
			failed.How = core.StartTaken
			return failed
		}
	}
	return d.explainStart(ctx, failed, j.ID, err)
}

// isBarred fills in why a job's user may run nothing today.
func (d *Daemon) isBarred(j *job.Job, failed *core.StartFailed) bool {
	if failed.Detail = d.barred(j); failed.Detail == "" {
		return false
	}
	d.log.Warn("not starting a job", "job", j.ID, "uid", j.Owner.UID, "err", failed.Detail)
	failed.How = core.StartBarred
	return true
}

// barred says why a job's user, or whoever that is a subordinate of, may run
// nothing today.
func (d *Daemon) barred(j *job.Job) string {
	if d.opt.Barred == nil {
		return ""
	}
	return cmp.Or(d.opt.Barred(j.Owner.UID), d.opt.Barred(j.Person().UID))
}

// unprepared reports why a start can't be prepared that no further try prepares.
func unprepared(err error) (why string, never bool) {
	var room *launch.RoomError
	switch {
	case errors.Is(err, job.ErrNoPayload):
		return job.ErrNoPayload.Error(), true
	case errors.As(err, &room) && room.Bytes > room.Most: // else there is room when the user's other jobs have ended
		return room.Error(), true
	}
	return "", false
}

// taken looks at the unit that exists in place of a job's. It says whose it is where it
// is not the job's. One of an earlier attempt of the job it stops: the call that made it
// came late, after the daemon that had sent it died.
func (d *Daemon) taken(ctx context.Context, j *job.Job) string {
	name := units.Name(int64(j.ID))
	if d.opt.Origin == nil {
		return ""
	}
	o, err := d.opt.Origin(ctx, name)
	if err != nil {
		return "" // looked at as any unit that exists
	}
	attempt, by := takenBy(name, &o, j.Owner.UID)
	if by != "" {
		return by
	}
	if attempt < j.Attempt.Number {
		d.log.Warn("stopping the unit of an earlier attempt", "job", j.ID, "unit", name, "attempt", attempt)
		if err := d.opt.Units.Stop(ctx, name); err != nil {
			d.log.Warn("stopping a unit, will try again", "job", j.ID, "unit", name, "err", err)
		}
	}
	return ""
}

// invalidArgs is how systemd refuses a property's value.
const invalidArgs = "org.freedesktop.DBus.Error.InvalidArgs"

// explainStart says in which way a start failed.
func (d *Daemon) explainStart(ctx context.Context, failed core.StartFailed, id job.ID, err error) core.Event {
	var start *units.StartError
	var refused *units.RefusedError
	switch {
	case errors.Is(err, units.ErrExists):
		d.starting.note(nil, d.host.Now())
		failed.How = core.StartExists
		return failed
	case errors.As(err, &start) && vanished(start): // it may have run: no second time
		failed.How, failed.Launch, failed.Detail = core.StartRefused, contract.StepUnit, "nothing is known of its start"
	case errors.As(err, &refused) && refused.Code == invalidArgs: // of what the job asks; the same again
		failed.How, failed.Launch, failed.Detail = core.StartRefused, contract.StepUnit, notStarted(nil, refused)
	case start != nil, refused != nil, errors.Is(err, units.ErrNotNow):
		d.starting.note(nil, d.host.Now()) // it answers; the core counts the starts
		failed.How, failed.Launch = core.StartLater, contract.StepUnit
		if failed.Detail = notStarted(start, refused); refused == nil && d.leaves(ctx) {
			failed.Detail = "the machine was going down"
		}
	default:
		d.starting.note(err, d.host.Now())
		d.unsure.Store(int64(id))
	}
	d.log.Warn("starting a unit", "job", id, "unit", units.Name(int64(id)), "err", err)
	return failed
}

// vanished reports whether a unit is not there any more that may have been executed: a start
// is called failed, too, whose command ended badly at once.
func vanished(e *units.StartError) bool {
	phase, _ := units.Decode(e.Status)
	switch e.JobResult {
	case units.JobUnknown, units.JobFailed, units.JobTimeout:
		return phase == units.PhaseAbsent
	}
	return false
}

// notStarted says why systemd did not start a unit.
func notStarted(start *units.StartError, refused *units.RefusedError) string {
	switch {
	case refused != nil:
		return "systemd: " + refused.Message
	case start == nil:
		return "systemd was stopping it or its slice"
	case start.JobResult == units.JobSkipped:
		return "systemd skipped it: a condition that the site set for jobs in gpujob-.service.d is not met"
	case start.JobResult == units.JobAssert:
		return "systemd refused it: an assertion that the site set for jobs in gpujob-.service.d does not hold"
	case start.JobResult == units.JobDependency:
		return "systemd could not start another unit that it needs (systemctl --failed)"
	case start.Status.Result == units.ResultResources:
		return "systemd was short of memory or processes, or could not read what the site set for jobs in gpujob-.service.d"
	case start.Status.PostFailed: // Decode says so
	case start.Status.Result == units.ResultTimeout:
		return "systemd took too long: it asks for the groups of the account, and a directory service may hang"
	case start.Status.CheckCode != 0: // Decode says so
	case start.Status.MainCode == 0 && start.Status.Result == units.ResultExitCode:
		return "a program that the site set to run before jobs in gpujob-.service.d failed"
	}
	_, exit := units.Decode(start.Status)
	return cmp.Or(exit.Detail, "its start in systemd ended as "+start.JobResult)
}

func (d *Daemon) stop(ctx context.Context, a core.Stop) core.Event {
	ctx, cancel := d.host.Timeout(ctx, a.Grace+stopSurplus)
	defer cancel()
	ev := core.Stopped{Job: a.Job, Attempt: a.Attempt}
	name := units.Name(int64(a.Job))
	if early := a.Thaw || len(a.Notice.Say) > 0; early || !a.Look { // else the look tells it in time
		another, err := d.anothersNow(ctx, name, a.Whose)
		if err != nil {
			d.reportUnread(name, err)
		}
		if another || err != nil {
			return d.nothingToStop(a, another)
		}
	}
	if a.Thaw {
		d.thaw(ctx, a.Job)
	}
	d.notifyOwner(ctx, a.Notice, farewellTime) // before the look, which nothing may come after but the stop
	if a.Look {
		before, another := d.look(ctx, core.Inspect{Job: a.Job, Attempt: a.Attempt, Whose: a.Whose})
		if another {
			return d.nothingToStop(a, true)
		}
		if ev.Before = before.Unit; !before.OK || ev.Before.Phase == core.Exited {
			return ev
		}
	}
	if !a.Look {
		ev.Running = d.leftRunning(a)
	}
	looked := d.host.Now()
	// As long as the unit is there systemd refuses another, and without the spec
	// one that comes later, by a call of a daemon that died, runs nothing.
	d.removeSpec(a.Job, a.Attempt)
	err := d.opt.Units.Stop(ctx, name)
	if err != nil && ctx.Err() == nil {
		d.log.Warn("stopping a unit, will try again", "job", a.Job, "unit", name, "err", err)
	}
	if errors.Is(err, units.ErrProcesses) {
		ev.Left = d.describeSurvivors(ctx, a.Job)
	}
	ev.OK, ev.Before.Old = err == nil, d.host.Now().Sub(looked)
	d.mark(a.Job, stepGone, d.host.Now())
	return ev
}

// nothingToStop answers a stop that touched no unit. Where the unit of that name is another's, the
// job has none, and the stop is over; where it could not be read whose it is, the stop is tried again.
func (d *Daemon) nothingToStop(a core.Stop, another bool) core.Event {
	if another {
		d.removeSpec(a.Job, a.Attempt)
		d.mark(a.Job, stepGone, d.host.Now())
	}
	return core.Stopped{Job: a.Job, Attempt: a.Attempt, OK: another}
}

// anothersNow reports whether the unit of that name is there and is another's.
func (d *Daemon) anothersNow(ctx context.Context, name string, w core.Whose) (another bool, err error) {
	if d.opt.Origin == nil {
		return false, nil
	}
	ctx, cancel := d.host.Timeout(ctx, statusTime)
	defer cancel()
	st, err := d.opt.Units.Status(ctx, name)
	if err != nil {
		return false, err
	}
	return d.anothers(ctx, &st, w)
}

// reportUnread logs that it could not be read what a unit is; health reports where the bus stays away.
func (d *Daemon) reportUnread(name string, err error) {
	level := slog.LevelWarn
	if errors.Is(err, units.ErrBus) {
		level = slog.LevelInfo
	}
	d.log.Log(context.Background(), level, "reading a unit, will try again", "unit", name, "err", err)
}

// anothers reports whether a unit is not the job's whose name it has. One of another
// invocation than is on record may still be: a start that came late made it.
func (d *Daemon) anothers(ctx context.Context, st *units.Status, w core.Whose) (bool, error) {
	if st.InvocationID == "" || st.InvocationID == w.Invocation || d.opt.Origin == nil {
		return false, nil
	}
	o, err := d.opt.Origin(ctx, st.Name)
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
		d.log.Warn("leaving a unit alone that has a job's name and is not its own", "unit", st.Name, "err", by)
	}
	return by != "", nil
}

// collectAfter is how long the unit of a job that has ended stays, so that systemd starts
// the next on its GPUs first.
const collectAfter = 20 * time.Millisecond

// collect has systemd forget a unit whose result is on record.
func (d *Daemon) collect(ctx context.Context, a core.Collect) {
	name := units.Name(int64(a.Job))
	if a.Listings == 0 && !pause(ctx, d.host, collectAfter) || a.Listings > 0 && !d.onRecord(ctx, a) {
		return
	}
	ctx, cancel := d.host.Timeout(ctx, stopSurplus)
	defer cancel()
	if a.Listings > 0 { // whatever is in it has no right to be there, nor to a grace
		err := d.opt.Units.Kill(ctx, name, int(syscall.SIGKILL), units.All)
		if err != nil && !errors.Is(err, units.ErrAbsent) {
			d.log.Warn("ending what is left of a job that has ended, will try again", "job", a.Job, "unit", name, "err", err)
		}
	}
	if err := d.opt.Units.Stop(ctx, name); err != nil {
		d.log.Warn("collecting the unit of a job that has ended, will try again", "job", a.Job, "unit", name, "err", err)
	}
}

// onRecord reports whether the job of a unit without one has ended, as far as anybody knows.
func (d *Daemon) onRecord(ctx context.Context, a core.Collect) bool {
	ends, err := d.opt.Store.Ends(ctx, []job.ID{a.Job})
	if err != nil {
		d.log.Warn("looking for the end of a job that has a unit, will try again", "job", a.Job, "err", err)
		return false
	}
	_, ended := ends[a.Job]
	if !ended && a.Listings >= core.ReportedAt { // or later, where the store failed then
		d.reportOrphan(a.Job)
	}
	return ended
}

func (d *Daemon) reportOrphan(id job.ID) {
	if _, before := d.orphans.LoadOrStore(id, true); before {
		return
	}
	d.log.Warn("a unit has a job's name and belongs to no job on record, left alone", "job", id, "unit", units.Name(int64(id)))
}

// removeSpec removes the launcher's instructions.
func (d *Daemon) removeSpec(id job.ID, attempt int) {
	if err := d.opt.Specs.Remove(id, attempt); err != nil {
		d.log.Warn("removing a spec", "job", id, "attempt", attempt, "err", err)
	}
}

func (d *Daemon) inspect(ctx context.Context, a core.Inspect) core.Inspected {
	seen, _ := d.look(ctx, a)
	return seen
}

// look is inspect, and reports whether the unit of that name is another's.
func (d *Daemon) look(ctx context.Context, a core.Inspect) (seen core.Inspected, another bool) {
	ctx, cancel := d.host.Timeout(ctx, statusTime)
	defer cancel()
	look := d.visits.look(a.Job)
	defer d.visits.over(look)
	seen = core.Inspected{Job: a.Job, Attempt: a.Attempt, Early: a.Early}
	st, err := d.opt.Units.Status(ctx, units.Name(int64(a.Job)))
	if err == nil {
		another, err = d.anothers(ctx, &st, a.Whose)
	}
	if err != nil {
		d.reportUnread(units.Name(int64(a.Job)), err)
		return seen, false
	}
	if another {
		seen.Unit, seen.OK = core.Unit{Job: a.Job}, true
		return seen, true
	}
	if swept(&st) && d.leaves(ctx) {
		return seen, false
	}
	u := d.unitOf(st)
	u.Job, u.Spent = a.Job, u.Spent && !look.disturbed()
	if u.Phase == core.Active && d.unsure.CompareAndSwap(int64(a.Job), 0) {
		d.starting.note(nil, d.host.Now()) // it was started, only the answer got lost
	}
	seen.Unit, seen.OK = u, true
	return seen, false
}

// endProcess signals one process that is not in its job's unit, which therefore
// no stop of that ends.
func (d *Daemon) endProcess(a core.EndProcess) {
	if d.opt.EndProcess == nil {
		return
	}
	level, text := slog.LevelInfo, "signalling a process that left its job's unit or uses another's GPU"
	err := d.opt.EndProcess(a)
	if err != nil {
		level = slog.LevelWarn
	}
	d.log.Log(context.Background(), level, text, "job", a.Job, "uid", a.UID, "pid", a.PID, "signal", a.Signal, "err", err)
}

// freeze halts a job, or lets it go on. Two calls may reach systemd in the other
// order: the unit is looked at afterwards.
func (d *Daemon) freeze(ctx context.Context, a core.Freeze) {
	ctx, cancel := d.host.Timeout(ctx, statusTime)
	defer cancel()
	if err := d.opt.Units.Freeze(ctx, units.Name(int64(a.Job)), !a.Thaw); err != nil {
		d.log.Warn("suspending or resuming a job, will try again", "job", a.Job, "thaw", a.Thaw, "err", err)
		return
	}
	d.post(core.Changed{Job: a.Job})
}

// thaw lets a job that is to be stopped go on, so that its grace is of use to it. The
// stop reaches it all the same where that fails.
func (d *Daemon) thaw(ctx context.Context, id job.ID) {
	ctx, cancel := d.host.Timeout(ctx, statusTime)
	defer cancel()
	if err := d.opt.Units.Freeze(ctx, units.Name(int64(id)), false); err != nil && !errors.Is(err, units.ErrAbsent) {
		d.log.Warn("letting a suspended job go on before its stop", "job", id, "err", err)
	}
}

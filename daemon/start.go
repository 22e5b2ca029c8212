package daemon

import (
	"cmp"
	"context"
	"errors"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/launch"
)

// lookLasts is the maximum age of a GPU sample at the start of a job. If a slow disk or other
// starts delay the start for longer, the GPUs are sampled again.
const lookLasts = SlowAfter

// start makes the unit of a job's attempt. It returns the event that answers the action.
func (x *executor) start(ctx context.Context, a core.Start) core.Event {
	j := a.Job
	x.trace.mark(j.ID, stepBegun, x.host.Now())
	failed := core.StartFailed{Job: j.ID, Attempt: j.Attempt.Number}
	// Check the account first, before a process gets the account's rights and reads something.
	if x.directory.hasNewOwner(&j, &failed) || x.directory.joinedQuota(&j, &failed) || x.directory.isBarred(&j, &failed) {
		return failed
	}
	ctx, cancel := x.host.Timeout(ctx, startTime)
	defer cancel()
	spec, err := x.prepare(ctx, &j)
	if detail, never := isUnprepared(err); never {
		x.log.Error("preparing a start", "job", j.ID, "err", err)
		failed.How, failed.Launch, failed.Detail = core.StartRefused, contract.StepSpec, detail
		return failed
	}
	if err != nil { // systemd has not been asked yet
		err = x.damaged(err)
		x.log.Error("preparing a start, will try again", "job", j.ID, "err", err)
		failed.How, failed.Launch, failed.Detail = core.StartLater, contract.StepSpec, "preparing it: "+err.Error()
		if errors.As(err, new(scratchError)) {
			failed.Launch, failed.Detail = contract.StepScratch, "its scratch directory could not be made: "+err.Error()
		}
		if errors.As(err, new(*launch.RoomError)) { // the user's own jobs take up the room
			failed.Launch = ""
		}
		return failed
	}
	if !a.SampledAt.IsZero() && x.host.Now().Sub(a.SampledAt) > lookLasts {
		x.log.Info("sampling the GPUs of a job again: its start was delayed", "job", j.ID, "since", a.SampledAt)
		failed.How = core.StartStale
		return failed
	}
	x.trace.mark(j.ID, stepPrepared, x.host.Now())
	doubts := x.launcher.count(x.opt.LauncherFile)
	spec.Check = doubts > 0 && (j.Request.MemBytes == 0 || j.Request.MemBytes >= leastForCheck)
	look := x.helpers.inspect(j.ID) // a note to the job's last attempt may still be on its way
	defer x.helpers.done(look)
	st, err := x.opt.Units.Start(x.trace.contextFor(ctx, j.ID), units.Name(int64(j.ID)), units.Properties(spec))
	if err == nil {
		x.trace.mark(j.ID, stepStarted, x.host.Now())
		x.starting.note(nil, x.host.Now())
		if spec.Check {
			x.launcher.setWorked(doubts)
		}
		u := x.convert(st)
		u.Spent = u.Spent && !look.wasDisturbed()
		return core.Started{Job: j.ID, Attempt: j.Attempt.Number, Unit: u}
	}
	if errors.Is(err, units.ErrExists) {
		if failed.Detail = x.judgeExisting(ctx, &j); failed.Detail != "" {
			x.log.Error("not starting a job: its unit exists and is not its own", "job", j.ID, "unit", units.Name(int64(j.ID)), "err", failed.Detail)
			failed.How = core.StartTaken
			return failed
		}
	}
	return x.explainStart(ctx, failed, j.ID, err)
}

// scratchError means that the site's directory for scratch directories can't be used at present.
type scratchError struct{ error }

// isUnprepared reports whether a start failed because its preparation can never succeed, and why.
func isUnprepared(err error) (why string, never bool) {
	var room *launch.RoomError
	switch {
	case errors.Is(err, job.ErrNoPayload):
		return job.ErrNoPayload.Error(), true
	case errors.As(err, &room) && room.Bytes > room.Most: // otherwise there will be room when other jobs of the user end
		return room.Error(), true
	}
	return "", false
}

// judgeExisting examines an existing unit that has a job's name. If the unit does not belong to the
// job, judgeExisting returns a sentence that says whose unit it is. If a late call of a dead daemon
// made the unit for an earlier attempt of the job, judgeExisting stops the unit and returns "".
func (x *executor) judgeExisting(ctx context.Context, j *job.Job) string {
	name := units.Name(int64(j.ID))
	if x.opt.Origin == nil {
		return ""
	}
	o, err := x.opt.Origin(ctx, name)
	if err != nil {
		return "" // the start then fails as if the unit were the job's own
	}
	attempt, by := judgeOrigin(name, &o, j.Owner.UID)
	if by != "" {
		return by
	}
	if attempt < j.Attempt.Number {
		x.log.Warn("stopping the unit of an earlier attempt", "job", j.ID, "unit", name, "attempt", attempt)
		if err := x.opt.Units.Stop(ctx, name); err != nil {
			x.log.Warn("stopping a unit, will try again", "job", j.ID, "unit", name, "err", err)
		}
	}
	return ""
}

// invalidArgs is the D-Bus error with which systemd rejects a property's value.
const invalidArgs = "org.freedesktop.DBus.Error.InvalidArgs"

// explainStart decides what happens after a start has failed with this error.
func (x *executor) explainStart(ctx context.Context, failed core.StartFailed, id job.ID, err error) core.Event {
	var start *units.StartError
	var refused *units.RefusedError
	switch {
	case errors.Is(err, units.ErrExists):
		x.starting.note(nil, x.host.Now())
		failed.How = core.StartExists
		return failed
	case errors.As(err, &start) && unitIsGone(start): // the job may have run, so it does not run again
		failed.How, failed.Launch, failed.Detail = core.StartRefused, contract.StepUnit, "the outcome of its start is unknown"
	case errors.As(err, &refused) && refused.Code == invalidArgs: // the request is at fault, so no try can succeed
		failed.How, failed.Launch, failed.Detail = core.StartRefused, contract.StepUnit, notStarted(nil, refused)
	case start != nil, refused != nil, errors.Is(err, units.ErrNotNow):
		x.starting.note(nil, x.host.Now()) // systemd answers; the core counts the failures
		failed.How, failed.Launch = core.StartLater, contract.StepUnit
		if failed.Detail = notStarted(start, refused); refused == nil && x.shutdown.isUnderway(ctx) {
			failed.Detail = "the machine was going down"
		}
	default:
		x.starting.note(err, x.host.Now())
		x.unsure.Store(int64(id))
	}
	x.log.Warn("starting a unit", "job", id, "unit", units.Name(int64(id)), "err", err)
	return failed
}

// unitIsGone reports whether the unit is gone and its command may have run. That is possible even
// if systemd says that the start failed, because systemd says the same when a command fails at
// once.
func unitIsGone(e *units.StartError) bool {
	phase, _ := units.Decode(e.Status)
	switch e.JobResult {
	case units.JobUnknown, units.JobFailed, units.JobTimeout:
		return phase == units.PhaseAbsent
	}
	return false
}

// notStarted returns the reason why systemd did not start a unit.
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
	case start.Status.PostFailed: // explained by Decode below
	case start.Status.Result == units.ResultTimeout:
		return "systemd took too long: it asks for the groups of the account, and a directory service may hang"
	case start.Status.CheckCode != 0: // explained by Decode below
	case start.Status.MainCode == 0 && start.Status.Result == units.ResultExitCode:
		return "a program that the site set to run before jobs in gpujob-.service.d failed"
	}
	_, exit := units.Decode(start.Status)
	return cmp.Or(exit.Detail, "its start in systemd ended as "+start.JobResult)
}

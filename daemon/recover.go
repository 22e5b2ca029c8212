package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
)

// recover finds jobs that have a unit but are not on record, jobs whose unit belongs to a later
// attempt than the recorded one, and jobs that were suspended, parked or moved since they were
// recorded. Either the state file was lost, or somebody put back an older copy. Nothing else can
// cause this, since a job is on record before its unit is made. recover runs at each listing. So if
// the daemon dies before the recovered jobs are on record, the next daemon finds them again.
//
// A unit shows these properties of the job: its id, name, owner, array and task; its GPUs, with
// shares and promised memory; its first limits, its attempt and its start. A file next to the job's
// spec has the later changes. Everything else is lost: the command, environment and directory, tags
// and comment, earlier attempts, a pending cancellation, and the job's retries, requeueing and
// dependencies.
//
// If a unit with the name of a recorded job belongs to somebody else, the second result has the
// job. Such a unit says nothing about the job.
func (l *unitReconciler) recover(ctx context.Context, run string, all []units.Status) (found []job.Job,
	taken []core.Taken, err error) {
	unknown, known, err := l.unknownUnits(ctx, all)
	if err != nil || len(unknown) == 0 || l.d.opt.Origin == nil {
		return nil, nil, err
	}
	for _, st := range unknown {
		id, _ := units.ParseName(st.Name)
		onRecord, isKnown := known[job.ID(id)]
		same := isKnown && onRecord.Attempt != nil && onRecord.Attempt.InvocationID == st.InvocationID
		if same && !l.d.exec.knowsLater(onRecord) {
			continue
		}
		o, err := l.d.opt.Origin(ctx, st.Name)
		if errors.Is(err, units.ErrAbsent) {
			continue // the unit was collected after the listing
		}
		if err != nil {
			return nil, nil, err
		}
		if isKnown {
			if _, by := judgeOrigin(st.Name, &o, onRecord.Owner.UID); by != "" {
				taken = append(taken, core.Taken{Job: onRecord.ID, By: by})
				l.report(st.Name, errors.New(by))
				continue
			}
		}
		spec, err := o.Spec(st.Name)
		if err != nil {
			if !isKnown {
				l.report(st.Name, err)
			}
			continue
		}
		j := recoveredJob(&spec, &st, run, l.d.host.Now())
		l.d.exec.applyKept(&j)
		if isKnown {
			if at := attemptOf(onRecord); at < spec.Attempt || at == spec.Attempt && j.IsAfter(onRecord) {
				l.d.log.Error("the state file is an older copy, from before the present attempt of this job or its last suspension: the job continues with its GPUs, unless that copy says it was cancelled",
					"job", j.ID, "unit", st.Name, "uid", j.Owner.UID, "gpu", job.FormatGPUList(j.GPUIndexes()))
				found = append(found, j)
			}
			continue
		}
		l.d.log.Error("a running job is not on record: it is recovered from its unit, continues, and keeps its GPUs; its command and environment are lost",
			"job", j.ID, "unit", st.Name, "uid", j.Owner.UID, "gpu", job.FormatGPUList(j.GPUIndexes()))
		found = append(found, j)
	}
	return found, taken, nil
}

// judgeOrigin decides whether a unit that has the name of a job belongs to that job, whose owner
// has this uid. If so, it returns the attempt that the unit was made for. Otherwise it returns a
// sentence that says whose unit it is.
func judgeOrigin(name string, o *units.Origin, uid int) (attempt int, by string) {
	if attempt, ok := o.Attempt(name, uid); ok {
		return attempt, ""
	}
	if s, err := o.Spec(name); err == nil {
		return 0, fmt.Sprintf("the unit %s belongs to a job of uid %d that is not on record", name, s.UID)
	}
	return 0, fmt.Sprintf("the unit %s exists and is not a job's", name)
}

// listingWait is the time after the daemon's start during which submissions wait for the first
// listing of the units. If systemd has not answered when this time is over, submissions are
// accepted without the listing.
const listingWait = 5 * time.Second

// awaitListing waits for the first listing. A job that was submitted before the listing could get
// the id of a job that only a unit knows.
func (l *unitReconciler) awaitListing(ctx context.Context) {
	if l.listed.open.Load() {
		return
	}
	until := l.d.started.Add(listingWait)
	for !l.listed.open.Load() && ctx.Err() == nil && !closed(l.d.inbox.done) && l.d.host.Now().Before(until) {
		l.listed.bell.Wait(until, ctx.Done(), l.d.inbox.done)
	}
	l.listed.bell.Ring() // wakes the next submission that waits
}

// report logs, once per unit, that a unit with a job's name does not belong to that job.
func (l *unitReconciler) report(name string, err error) {
	id, _ := units.ParseName(name)
	if !l.strange[job.ID(id)] {
		l.strange[job.ID(id)] = true
		l.d.log.Warn("a unit has a job's name and is not a job's, left alone", "unit", name, "err", err)
	}
}

// unknownUnits returns the units of jobs that neither the core nor the store knows. It also returns
// the unit of a recorded job if the job waits, or if the record may be older than the unit. The map
// has these recorded jobs.
func (l *unitReconciler) unknownUnits(
	ctx context.Context, all []units.Status,
) ([]units.Status, map[job.ID]*job.Job, error) {
	byID := map[job.ID]units.Status{}
	var ids []job.ID
	for _, st := range all {
		if id, ok := units.ParseName(st.Name); ok {
			byID[job.ID(id)] = st
			ids = append(ids, job.ID(id))
		}
	}
	if err := l.d.inbox.ask(ctx, func(c *core.Core, _ time.Time) { ids = c.Unknown(ids) }); err != nil || len(ids) == 0 {
		return nil, nil, err
	}
	stored, err := l.d.opt.Store.Jobs(ctx, ids)
	if err != nil {
		return nil, nil, fmt.Errorf("looking up the jobs of units: %w", err)
	}
	known := map[job.ID]*job.Job{}
	for i := range stored {
		if j := &stored[i]; j.State.Live() || j.State == job.Queued && j.Tasks == nil {
			known[j.ID] = j
		} else {
			delete(byID, j.ID)
		}
	}
	var unknown []units.Status
	for _, id := range ids {
		if st, ok := byID[id]; ok {
			unknown = append(unknown, st)
		}
	}
	return unknown, known, nil
}

// recoveredJob makes the record of a job from its unit.
func recoveredJob(s *units.Spec, st *units.Status, run string, now time.Time) job.Job {
	began := now
	if st.Started != 0 {
		began = time.UnixMicro(int64(st.Started))
	}
	placed := s.Placed
	if placed.IsZero() || placed.After(began) { // after the placement, somebody set the clock back
		placed = began
	}
	j := job.Job{
		ID: job.ID(s.ID), Owner: job.Owner{UID: s.UID, GID: s.GID, User: s.User},
		Label: job.Label{Name: s.JobName, Comment: "recovered from its unit after the state file was lost"},
		Request: job.Request{
			MemBytes: s.Limits.MemBytes, CPUs: s.Limits.CPUs, TimeLimit: job.Span(s.TimeLimit), Grace: new(job.Span(s.Grace)),
			Derived: job.Derived{ContainerEngine: s.Engine},
		},
		SubmittedAt: began, State: job.Running, ChangedAt: began,
		Life: job.Life{QueuedAt: began, Recovered: true},
	}
	j.Attempt = &job.Attempt{
		Number: s.Attempt, BootID: run, InvocationID: st.InvocationID, PlacedAt: placed, StartedAt: began,
	}
	if s.Array != 0 {
		j.Task = &job.Task{Array: job.ID(s.Array), Index: s.Task}
	}
	for _, g := range s.GPUs {
		ref := job.Allocation{GPU: g}
		j.Attempt.GPUs = append(j.Attempt.GPUs, ref)
		j.Request.GPUMilli += ref.Share()
		j.Request.GPUMemBytes = max(j.Request.GPUMemBytes, g.PromiseBytes)
	}
	return j
}

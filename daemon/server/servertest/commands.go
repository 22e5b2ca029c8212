package servertest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Do records the command and changes View. Since there are no units, a cancel ends only waiting
// jobs. A running job is only marked.
func (b *Backend) Do(_ context.Context, who job.Actor, c job.Command) error {
	err := b.lock()
	defer b.mu.Unlock()
	if err != nil {
		return err
	}
	switch c.Kind {
	case job.CommandPauseGPU, job.CommandResumeGPU, job.CommandDrainGPU:
		err = b.control(who, c)
	case job.CommandDrain:
		b.View.Drained = &job.GPUControl{
			UUID: job.EveryGPU, By: who.User, At: b.Now, Reason: c.Reason, Until: c.Until, Reboot: c.Reboot,
		}
		if b.View.Ends = nil; c.Reboot != nil && !c.Reboot.By.IsZero() {
			b.View.Drained, b.View.Ends = nil, &job.Shutdown{At: c.Reboot.By, How: "reboot", By: who.User, Reason: c.Reason}
		}
	case job.CommandUndrain:
		b.View.Drained, b.View.Ends = nil, nil
	case job.CommandReserve, job.CommandUnreserve:
		err = b.reserve(who, c)
	default:
		err = b.act(who, c)
	}
	if err == nil {
		b.done = append(b.done, Done{who, c})
	}
	return err
}

// DoMany calls Do for each command.
func (b *Backend) DoMany(
	ctx context.Context, who job.Actor, list []job.Command, told func([]job.Outcome) error,
) (begun int, err error) {
	var out []job.Outcome
	for _, c := range list {
		var o job.Outcome
		err := b.Do(ctx, who, c)
		if errors.As(err, &o.Refusal) {
			err = nil
		} else if v, _, _ := b.look(c.Job); v.ID != 0 {
			o.Job = &v
		}
		if err != nil {
			return len(out), err
		}
		out = append(out, o)
	}
	return len(list), told(out)
}

// act carries out a command about a job.
func (b *Backend) act(who job.Actor, c job.Command) error {
	v := b.find(c.Job)
	switch {
	case v == nil:
		return noJob(c.Job)
	case !who.MayControl(&v.Job):
		return job.Refuse("forbidden/owner", v.Called(), v.Owner.User)
	case v.State.Terminal():
		return job.Refuse("conflict/ended", v.Called(), v.State)
	}
	switch c.Kind {
	case job.CommandCancel:
		for i := range b.View.Jobs {
			f := &b.View.Jobs[i]
			onThis := func(d job.Dependency) bool { return d.Job == v.ID }
			if c.Unawaited && f.State == job.Queued && slices.ContainsFunc(f.Pending, onThis) {
				return job.Refuse("conflict/awaited", f.Called(), v.Called())
			}
		}
		if own := v.Request.GraceTime(); c.Grace != nil && *c.Grace > own {
			return job.Refuse("conflict/longer-grace", v.Called(), own)
		}
		return b.cancel(v, who, c.Task)
	case job.CommandSignal:
		if v.Request.Array != nil && v.Task == nil && (v.Tasks == nil || v.Tasks.Live == 0) {
			return job.Refuse("conflict/no-task-runs", v.Called())
		}
	case job.CommandRequeue:
		return b.requeue(v, who)
	case job.CommandSuspend:
		switch {
		case v.IsSuspended():
			return job.Refuse("conflict/suspended", v.Called(), v.SuspendedBy)
		case !v.State.Live():
			return job.Refuse("conflict/no-suspend", v.Called(), v.State)
		}
		v.SuspendedAt, v.SuspendedBy = b.Now, who.User
		v.ResumesAt = b.Now.Add(time.Hour)
	case job.CommandResume:
		if !v.IsSuspended() {
			return job.Refuse("conflict/not-suspended", v.Called())
		}
		v.Suspension, v.ResumesAt = job.Suspension{SuspendedTime: time.Minute}, time.Time{}
	case job.CommandPark, job.CommandUnpark:
		return b.park(v, who, c.Kind == job.CommandPark)
	case job.CommandHold, job.CommandRelease, job.CommandUpdate:
		return b.actOnWaiting(v, who, c)
	}
	return nil
}

// park parks a job at once, and gives it its GPUs back at the second unpark: after the first, it
// waits for them.
func (b *Backend) park(v *job.JobView, who job.Actor, on bool) error {
	switch {
	case on && v.Park != job.NotParked:
		return job.Refuse("conflict/parked", v.Called())
	case on && (v.State != job.Running || v.IsSuspended() || len(v.HeldGPUs()) == 0):
		return job.Refuse("conflict/no-park", v.Called(), v.State)
	case on:
		v.SuspendedAt, v.SuspendedBy, v.Over = b.Now, who.User, !who.Is(v.Owner)
		v.Parking = job.Parking{Park: job.IsParked, ParkBytes: 20 << 30}
	case v.Park == job.NotParked:
		return job.Refuse("conflict/not-parked", v.Called())
	case v.Over && !who.Admin:
		return job.Refuse("forbidden/parked", v.Called(), v.SuspendedBy)
	case !v.ParkWants:
		v.ParkWants, v.Reasons = true, b.Reasons
	default:
		v.Suspension, v.Parking = job.Suspension{SuspendedTime: time.Minute}, job.Parking{ParkedTime: time.Minute}
		v.Reasons = nil
	}
	return nil
}

func (b *Backend) cancel(v *job.JobView, who job.Actor, task *int) error {
	if task != nil {
		if v.Tasks == nil {
			v.Tasks = &job.Tasks{}
		}
		counts := v.Tasks.Drop(v.Request.Array.Position(*task), who.User)
		v.Tasks = &counts
		b.news()
		return nil
	}
	v.Stop, v.StopBy = job.StopCancel, who.User
	if v.State == job.Queued {
		b.end(v, job.Result{Outcome: job.Cancelled, By: who.User})
	}
	return nil
}

func (b *Backend) requeue(v *job.JobView, who job.Actor) error {
	if !v.State.Live() {
		return job.Refuse("conflict/no-requeue", v.Called(), v.State)
	}
	v.State, v.Reasons = job.Queued, b.Reasons
	v.QueuedAt, v.ChangedAt = b.Now, b.Now
	v.Requeues++
	v.Attempt.EndedAt, v.Attempt.Result = b.Now, &job.Result{Outcome: job.Cancelled, Cause: job.StopRequeue, By: who.User}
	return nil
}

// actOnWaiting carries out a command about a job that has not started. Only an administrator can
// release a job that an administrator holds, even if the owner holds it as well. The same is true
// in daemon/core.
func (b *Backend) actOnWaiting(v *job.JobView, who job.Actor, c job.Command) error {
	others := v.HeldOver && !who.Admin
	switch {
	case v.State != job.Queued:
		return job.Refuse("conflict/not-waiting", v.Called(), v.State)
	case c.Kind == job.CommandHold:
		if !others {
			setHold(v, who.User, who.UID != v.Owner.UID)
		}
	case c.Kind == job.CommandUpdate:
		return update(v, who, c.Change)
	case others:
		return job.Refuse("forbidden/held", v.Called(), v.Held)
	default:
		v.Held, v.HeldOver = "", false
		v.Reasons = b.Reasons
	}
	return nil
}

// update changes a job's request. It copies the array, which views may share.
func update(v *job.JobView, who job.Actor, c *job.Change) error {
	if c.Priority != nil && c.Priority.Raised() && !who.Admin {
		return job.Refuse("forbidden/priority")
	}
	s := job.Submission{Label: v.Label, Request: v.Request}
	if s.Request.Array != nil {
		s.Request.Array = new(*s.Request.Array)
	}
	c.Apply(&s)
	v.Label, v.Request = s.Label, s.Request
	if c.After != nil {
		v.Pending = *c.After
	}
	return nil
}

func (b *Backend) control(who job.Actor, c job.Command) error {
	i := slices.IndexFunc(b.View.GPUs, func(g job.GPUView) bool { return g.Index == c.GPU })
	if i < 0 {
		return job.Refuse("not-found/gpu", c.GPU)
	}
	g := &b.View.GPUs[i]
	g.Control = job.GPUControl{UUID: g.UUID}
	g.State = job.GPUFree
	if c.Kind == job.CommandResumeGPU {
		return nil
	}
	g.Control = job.GPUControl{UUID: g.UUID, Paused: true, Reason: c.Reason, By: who.User, At: b.Now, Until: c.Until}
	g.State = job.GPUPaused
	if g.Control.Drain = c.Kind == job.CommandDrainGPU; g.Control.Drain {
		g.State = job.GPUDrained
		if len(g.Jobs) > 0 {
			g.State = job.GPUDraining
		}
	}
	return nil
}

func (b *Backend) reserve(who job.Actor, c job.Command) error {
	list := slices.Clone(b.View.Reservations)
	if c.Kind == job.CommandUnreserve {
		i := slices.IndexFunc(list, func(r job.Reservation) bool { return r.ID == c.Reservation.ID })
		if i < 0 {
			return job.Refuse("not-found/reservation", c.Reservation.ID)
		}
		b.View.Reservations = slices.Delete(list, i, i+1)
		return nil
	}
	r := *c.Reservation
	r.GPUs, r.ID = slices.Clone(r.GPUs), 1
	r.By, r.At = who.User, b.Now
	for i, ref := range r.GPUs {
		at := slices.IndexFunc(b.View.GPUs, func(g job.GPUView) bool { return g.Index == ref.Index })
		if at < 0 {
			return job.Refuse("not-found/gpu", ref.Index)
		}
		r.GPUs[i].UUID = b.View.GPUs[at].UUID
	}
	for _, old := range list {
		r.ID = max(r.ID, old.ID+1)
	}
	b.View.Reservations = append(list, r)
	slices.SortStableFunc(b.View.Reservations, func(x, y job.Reservation) int { return x.From.Compare(y.From) })
	return nil
}

package daemon

import (
	"context"

	"github.com/gpusched/gpusched/daemon/job"
)

// open starts a process in the job's unit, as the job's user. The process runs commands for the
// owner. It ends when nobody uses it any more or when the unit ends, so it is not recorded.
func (d *Daemon) open(ctx context.Context, who job.Actor, id job.ID) error {
	v, err := d.jobByID(ctx, id)
	if err != nil {
		return err
	}
	switch {
	case !who.MayControl(&v.Job):
		return job.Refuse("forbidden/owner", v.Called(), v.Owner.User)
	case v.State.Terminal():
		return job.Refuse("conflict/ended", v.Called(), v.State)
	case v.State != job.Running:
		return job.Refuse("conflict/no-open", v.Called(), v.State)
	case v.Park != job.NotParked && !v.ParkAwake:
		return job.Refuse("conflict/parked", v.Called())
	case !v.SuspendedAt.IsZero() && v.Park == job.NotParked:
		return job.Refuse("conflict/open-suspended", v.Called())
	case d.opt.Open == nil:
		return errStopped
	}
	defer d.exec.helpers.enter(id)()
	if err := d.opt.Open(ctx, id, v.Owner.UID); err != nil {
		d.log.Warn("opening a job to commands of its owner", "job", id, "err", err)
		return job.Refuse("conflict/open-failed", v.Called(), err)
	}
	return nil
}

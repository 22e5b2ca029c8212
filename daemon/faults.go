package daemon

import (
	"context"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units"
)

// listen makes events from the driver's error reports.
// Each event names the job of the reported process, if that process still exists.
func (d *Daemon) listen(ctx context.Context) {
	if d.opt.Kernel == nil {
		return
	}
	d.opt.Kernel.Run(ctx, func(r gpu.XidReport) {
		d.opt.Tally.GPUError(r.PCI, r.Code)
		boot, err := d.opt.Boot()
		if err != nil {
			d.log.Error("recording an error of a GPU", "pci", r.PCI, "xid", r.Code, "err", err)
			return
		}
		d.inbox.post(core.Faulted{Xid: r.Xid, Job: d.jobOf(r.PID), Boot: boot, Seq: r.Seq, At: r.At})
	})
}

// jobOf returns the job of a process, 0 for none.
func (d *Daemon) jobOf(pid int) job.ID {
	if pid == 0 || d.opt.UnitOf == nil {
		return 0
	}
	id, ok := units.ParseName(d.opt.UnitOf(pid))
	if !ok {
		return 0
	}
	return job.ID(id)
}

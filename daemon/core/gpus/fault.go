package gpus

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// maxPendingFaults is the largest number of error reports that are kept until the GPUs are known.
// For each GPU, only the last report of each kind is kept.
const maxPendingFaults = 1024

// Faulted handles an error report of the driver. It records the error with the job that was hit by
// it. If a GPU needs a reset or an inspection after the error, Faulted keeps jobs off the GPU.
// After every restart, all reports arrive again, even those that were counted already.
func (b *Book) Faulted(e ErrorReport) {
	if b.lastGoodSample.IsZero() {
		same := func(o ErrorReport) bool { return o.Xid.PCI == e.Xid.PCI && o.Xid.Code == e.Xid.Code }
		if b.pendingFaults = slices.DeleteFunc(b.pendingFaults, same); len(b.pendingFaults) < maxPendingFaults {
			b.pendingFaults = append(b.pendingFaults, e)
		}
		return
	}
	hit := atPCI(e.Xid.PCI, b.devices)
	if len(hit) == 0 {
		return
	}
	b.kernelSeq = max(b.kernelSeq, e.Seq)
	l, on := b.affectedJob(hit, e)
	if l != nil && e.Xid.Code != gpu.XidRecovery {
		what := job.GPUError{GPU: on.Index, Xid: e.Xid.Code, What: job.Text(gpu.XidName(e.Xid.Code)), At: e.At}
		b.addFinding(ErrorFound{l.ID, what})
	}
	for _, d := range hit {
		noteShared(b, d, e)
		b.faultedDevice(d, e, l)
	}
}

// atPCI returns the GPU with a PCI address, or all slices of that GPU.
func atPCI(pci string, devices []*device) (list []*device) {
	for _, d := range devices {
		if d.UUID != "" && d.At(pci) && (len(list) == 0 || !d.Slice.IsZero()) {
			list = append(list, d)
		}
	}
	return list
}

// faultedDevice keeps jobs off a GPU if the GPU needs a reset or an inspection after the error. The
// job l was hit by the error; nil means that no job was hit.
func (b *Book) faultedDevice(d *device, e ErrorReport, l *tracked.Job) {
	g := b.controls[d.UUID]
	if g.Fault.Boot != e.Boot {
		g.Fault = g.Fault.Anew()
	} else if e.Seq <= g.Fault.Seq {
		return
	}
	needs, before := b.policy.Xids.Of(e.Xid), gpu.Recovery(g.Fault.Recovery)
	if needs.Sick() {
		d.revoked = revocation{}
	}
	switch {
	case needs.Sick() && heavier(needs, before):
		g.Fault = g.Fault.With(job.GPUFault{Recovery: string(needs), What: xidMessage(e.Xid.Code), At: e.At})
		if l != nil {
			g.Fault.Job = l.ID
		}
	case e.Xid.Code == gpu.XidRecovery && needs == gpu.RecoverNothing && before.Sick():
		d.revoked = revocation{seq: e.Seq, number: b.NextSample()}
		b.addFinding(SampleWanted{d.revoked.number})
		return
	default:
		return
	}
	g.UUID, g.Fault.Boot, g.Fault.Seq = d.UUID, e.Boot, e.Seq
	b.recordControl(g)
}

// revocation is a line of the kernel's log with which the driver says that a GPU no longer needs a
// reset or an inspection. The line alone does not put the GPU back into service: a sample that
// began after the line must agree.
type revocation struct {
	seq    uint64 // the number of the line; 0: none
	number uint64 // the number of the first sample that counts
}

// confirmRecovery puts GPUs back into service if the driver calls them well in two ways: in the
// kernel's log, and in a sample. All other GPUs stay out of service until an administrator accepts
// them.
func (b *Book) confirmRecovery(number uint64) {
	for _, d := range b.devices {
		if d.revoked.seq == 0 || number < d.revoked.number || !d.present || d.Health != gpu.HealthOK || !d.Well {
			continue
		}
		g := b.controls[d.UUID]
		g.Fault = g.Fault.With(job.GPUFault{Boot: b.boot(), Seq: max(d.revoked.seq, g.Fault.Seq)})
		d.revoked = revocation{}
		b.recordControl(g)
		b.wantProof(d)
	}
}

// recordControl records the changed control of a GPU.
func (b *Book) recordControl(g job.GPUControl) {
	b.controls[g.UUID] = g
	b.addFinding(g)
}

// xidMessage returns the number of an Xid, with the Xid's meaning if it is known.
func xidMessage(code int) job.Message {
	if name := gpu.XidName(code); name != "" {
		return job.Say("detail/xid", code, name)
	}
	return job.Say("detail/xid-unnamed", code)
}

func heavier(a, b gpu.Recovery) bool {
	order := gpu.Recoveries()
	return slices.Index(order, a) > slices.Index(order, b)
}

// affectedJob returns the job that was hit by an error of a GPU, and the device on which it was
// hit: the whole GPU or one of its slices. If the driver names a process, the result is the job of
// that process. If it names none, the result is the only job that had the GPU.
func (b *inventory) affectedJob(hit []*device, e ErrorReport) (only *tracked.Job, on *device) {
	id, foreign := e.Job, false
	for _, d := range hit {
		if id == 0 {
			id = d.jobs[e.Xid.PID]
		}
		foreign = foreign || len(d.foreigners()) > 0
	}
	if id == 0 && foreign {
		return nil, nil
	}
	for l := range b.jobs.Live() {
		at := slices.IndexFunc(hit, func(d *device) bool { return b.jobs.Holds(l.ID, d.UUID) })
		if at < 0 || e.At.Before(l.Attempt.PlacedAt) {
			continue
		}
		if l.ID == id {
			return l, hit[at]
		}
		if only != nil {
			return nil, nil
		}
		only, on = l, hit[at]
	}
	if id != 0 {
		return nil, nil
	}
	return only, on
}

// neededRecovery returns what a GPU needs before it takes jobs again, and the reason for people.
// The last sample shows the state of the GPU's memory rows. A row that could not be replaced will
// never be replaced, so an administrator may accept that.
func (b *inventory) neededRecovery(d *device) (gpu.Recovery, job.Message) {
	needs, why := gpu.RecoverNothing, job.Message{}
	if f := b.controls[d.UUID].Fault; f.Boot == b.boot() && gpu.Recovery(f.Recovery).Sick() {
		needs, why = gpu.Recovery(f.Recovery), f.What
		if f.Job != 0 {
			why = job.Say("detail/in-job", why, f.Job)
		}
	}
	if b.policy.DrainPending && d.RowsPending && heavier(gpu.RecoverReset, needs) {
		needs, why = gpu.RecoverReset, job.Say("detail/row-pending")
	}
	if b.policy.DrainFailed && d.RowsFailed && !b.controls[d.UUID].Fault.RowsAccepted && heavier(gpu.RecoverDrain, needs) {
		needs, why = gpu.RecoverDrain, job.Say("detail/row-failed")
	}
	if left, what := b.leakRecovery(d); heavier(left, needs) {
		needs, why = left, what
	}
	if b.DriverDiffers() {
		needs, why = gpu.RecoverReboot, job.Say("detail/driver", b.last.versions.Installed, b.last.versions.Loaded)
	}
	if !why.IsZero() {
		why = job.Say("detail/needs", why, needs.Needs())
	}
	return needs, why
}

// DriverDiffers reports whether the last sample shows that the installed driver differs from the
// loaded one.
func (b *inventory) DriverDiffers() bool { return b.last.versions.Differ() }

// wasReset clears the faults that a reset cures.
func (b *Book) wasReset(d *device) {
	b.wantProof(d)
	g := b.controls[d.UUID]
	if g.Fault.Boot == b.boot() && gpu.Recovery(g.Fault.Recovery).Sick() && g.Fault.Recovery != string(gpu.RecoverReboot) {
		g.Fault = g.Fault.With(job.GPUFault{Boot: b.boot(), Seq: max(b.kernelSeq, g.Fault.Seq)})
		b.recordControl(g)
	}
}

// findLost finds the jobs on GPUs that, by the driver's reports, have been lost for some time.
func (b *Book) findLost(now time.Time) {
	for _, d := range b.devices {
		if (d.present && d.Health != gpu.HealthLost) || !b.isOffered(d) {
			d.lostSince = time.Time{}
			continue
		}
		if d.lostSince.IsZero() {
			d.lostSince = now
		}
		if b.policy.LostAfter == 0 || now.Sub(d.lostSince) < b.policy.LostAfter {
			continue
		}
		_, why := b.state(d, now)
		for l := range b.jobs.Live() {
			if b.jobs.Holds(l.ID, d.UUID) {
				b.addFinding(StopFound{Job: l.ID, Cause: job.StopGPULost, Fault: &job.GPUError{GPU: d.Index, What: why, At: now}})
			}
		}
	}
}

// isOffered reports whether the site offers the GPU to jobs. A site that names the index of a GPU
// also offers the GPU's slices.
func (b *inventory) isOffered(d *device) bool {
	only := b.policy.OnlyGPUs
	return len(only) == 0 || slices.Contains(only, d.Index) || !d.Slice.IsZero() && slices.Contains(only, d.Slice.Card)
}

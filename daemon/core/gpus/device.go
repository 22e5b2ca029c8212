package gpus

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units/retry"
)

// device is one GPU in the course of time. It is not stored: after a restart, the first sample
// shows the GPU again.
type device struct {
	gpu.Device
	present       bool           // the GPU is in the last sample
	jobs          map[int]job.ID // the job of each process on the GPU, by pid
	strays        map[int]bool   // the pids of processes that left their job's unit
	cleanup       *cleanup       // the job that left the GPU, until the GPU is clean
	baselineBytes int64          // the memory that belonged to no process when the last job came; -1: unknown

	revoked   revocation
	failing   failedJobs
	proof     proof
	began     map[*sched.Account]time.Time // by account: the beginning of its last job that did well on this GPU
	failed    map[*sched.Account]failure   // by account: its last job that failed at once on this GPU
	lostSince time.Time                    // zero: the GPU is not lost
	outside   []job.Foreign                // foreign processes of the last sample; nil: not determined yet
	energy    uint64                       // millijoules since the driver was loaded, by the last full sample; 0: unknown
	use       deviceUse
}

// cleanup describes a job that left a GPU, until the GPU is known to be clean.
type cleanup struct {
	job           job.ID // 0: unknown
	attempt       int    // 0: unknown
	since         time.Time
	sampleSeq     uint64 // only a sample with this number or a higher one counts
	looks         int    // the number of samples in which the GPU was not clean
	next          time.Time
	baselineBytes int64            // baselineBytes of the device, while the GPU has no device; -1: unknown
	uid           int              // the uid of the job's person
	began         time.Time        // when the job's attempt began
	ended         tracked.Interval // when the job's attempt ended
	earlier       *cleanup         // the job that left the GPU before, if the GPU has not been clean since; nil: none
	unsure        bool             // began is wrong, because the clock was set back while no daemon ran
	noted         []int            // the pids of processes outside their unit that were reported already
}

// These are the shortest and the longest time between two samples while a GPU is not clean.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// unassignedMem returns the memory in use that the driver assigns to no process. It returns -1 if
// the driver does not report what the processes use, or if the kernel also uses this memory. If the
// driver does not list the processes and no job has the GPU, all memory in use counts as belonging
// to no process.
func (b *inventory) unassignedMem(d *device) int64 {
	if d.MemIsNode || d.ProcessesUnknown && b.jobs.Held(d.UUID) {
		return -1
	}
	rest := int64(d.MemUsedBytes)
	for _, p := range d.Processes {
		if p.UsedBytes < 0 {
			return -1
		}
		rest -= p.UsedBytes
	}
	return max(0, rest)
}

// Sampled handles a sample. The consequences become findings.
func (b *Book) Sampled(e *Sample, now time.Time) {
	b.seen, b.last.problem, b.last.detail = true, e.Snap.Problem, e.Snap.Detail
	b.persons = e.Persons
	if e.HasCUDA && !b.last.hasCUDA {
		for _, d := range b.devices { // earlier answers said only that the library was missing
			d.proof.of, d.proof.silent = "", job.Message{}
		}
	}
	b.last.hasCUDA = e.HasCUDA
	if b.last.problem == "" || e.Driver.Loaded != "" {
		b.last.versions = e.Driver // the problem may be due to an upgrade, so the versions still count
	}
	b.last.differed = b.last.differed || b.DriverDiffers()
	for _, d := range b.devices {
		d.present = false
	}
	if b.last.problem != "" {
		return
	}
	b.lastGoodSample, b.links = now, e.Snap.Links
	b.last.driver, b.last.cuda = e.Snap.Driver, e.Snap.CUDAVersion
	for _, g := range e.Snap.Devices {
		if b.isOffered(&device{Device: g}) || b.find(g) != nil { // a known GPU may have had an offered index before
			b.merge(g, e, now)
		}
	}
	b.withdraw()
	b.forgetMembers()
	b.arrange()
	for _, d := range b.devices {
		b.checkCleanup(d, e, now)
		if d.present {
			d.noteLoad(b.policy.LoadWindow, now)
		}
	}
	if b.last.differed && !b.DriverDiffers() {
		b.last.differed = false
		driverAgrees(b)
	}
	b.confirmRecovery(e.Number)
	b.findLost(now)
	early := b.pendingFaults // these reports arrived before the GPUs were known
	b.pendingFaults = nil
	for _, e := range early {
		b.Faulted(e)
	}
}

// merge updates one device from a sample. If a GPU answers with an error, its last readings are
// kept. A GPU that was never read has no UUID, so its index identifies it until it has one.
func (b *Book) merge(g gpu.Device, e *Sample, now time.Time) {
	d := b.find(g)
	if d == nil {
		d = &device{Device: g, baselineBytes: -1}
		b.devices = append(b.devices, d)
		b.inventoryVersion++
	}
	if d.Index != g.Index { // the driver numbers only the GPUs that are present
		d.Index = g.Index
		b.inventoryVersion++
	}
	d.present = true
	if g.Health != gpu.HealthOK {
		d.Health, d.HealthDetail = g.Health, g.HealthDetail
		return
	}
	if d.Name != g.Name || d.usableMem() != (&device{Device: g}).usableMem() || d.MIG != g.MIG || d.UUID != g.UUID ||
		d.ComputeMode != g.ComputeMode {
		b.inventoryVersion++
	}
	if d.RowsPending && !g.RowsPending { // only a reset replaces a row
		b.wasReset(d)
	}
	first, before := d.jobs == nil, d.jobs
	d.Device, d.outside = g, nil
	if !e.Snap.Look {
		d.energy = g.EnergyMilliJ
	}
	d.jobs, d.strays = map[int]job.ID{}, map[int]bool{}
	b.checkProof(d)
	if first {
		// an earlier daemon may have recorded a leak
		if f := b.controls[d.UUID].Fault; f.Boot == b.boot() && !f.Left.What.IsZero() {
			d.cleanup, d.baselineBytes = &cleanup{job: f.Left.Job, since: f.Left.At}, f.Left.BaseBytes
		}
	}
	b.restoreCleanup(d)
	for i := range g.Processes {
		p := &g.Processes[i]
		id, ok := e.jobOf(p.PID, b.jobs)
		if ok {
			b.remember(p, membership{job: id})
			if l := b.jobs.Active(id); l != nil && !p.Dead {
				l.Lifetime().SawProcess(e.beginTime(now))
			}
		} else if id, ok = b.stray(d, p, before[p.PID], e.beginSpan(p, now)); ok {
			d.strays[p.PID] = !p.Dead
		}
		if ok {
			d.jobs[p.PID] = id
		}
		away := first && p.Dead && b.jobs.ShareHeld(d.UUID) < job.WholeGPU // the process was left there while no daemon ran
		if d.cleanup == nil && (away || ok && !b.jobs.Holds(id, d.UUID)) {
			d.cleanup = &cleanup{job: id, since: now}
		}
	}
}

// restoreCleanup resumes the cleanup of a GPU if a job left the GPU before any sample showed it.
func (b *Book) restoreCleanup(d *device) {
	left := b.cleanups[d.UUID]
	if left == nil {
		return
	}
	d.cleanup = left
	if left.baselineBytes >= 0 {
		d.baselineBytes = left.baselineBytes
	}
	delete(b.cleanups, d.UUID)
}

// arrange sorts the devices by index. A GPU that is gone keeps its index, even if the driver has
// given that index to another GPU. The GPU that is present then comes first, since people who name
// the index mean this one.
func (b *Book) arrange() {
	byIndex := func(a, b *device) int {
		if a.Index == b.Index && a.present != b.present {
			if a.present {
				return -1
			}
			return 1
		}
		return a.Index - b.Index
	}
	if !slices.IsSortedFunc(b.devices, byIndex) {
		slices.SortStableFunc(b.devices, byIndex)
		b.inventoryVersion++
	}
}

// find returns the known device that a sample describes. If the device is new, it returns nil.
func (b *inventory) find(g gpu.Device) *device {
	for _, d := range b.devices {
		nameless := g.UUID == "" || d.UUID == ""
		if (!nameless && d.UUID == g.UUID) || (nameless && d.Index == g.Index) {
			return d
		}
	}
	return nil
}

// checkCleanup looks at a sample that was taken after a job left the GPU. If the GPU is clean in
// it, checkCleanup ends the GPU's cleanup. Otherwise it plans the next sample.
func (b *Book) checkCleanup(d *device, e *Sample, now time.Time) {
	dep := d.cleanup
	if dep == nil || e.Number < dep.sampleSeq || !d.present || d.Health != gpu.HealthOK {
		return
	}
	if b.isClean(d) {
		d.cleanup = nil
		if g := b.controls[d.UUID]; !g.Fault.Left.What.IsZero() { // what recordLeak recorded as left is gone
			g.Fault.Left = job.GPULeft{}
			b.recordControl(g)
		}
		return
	}
	b.endStrays(d, e, now)
	if now.Sub(dep.since) > b.policy.CleaningTimeout {
		b.recordLeak(d)
	}
	dep.looks++
	dep.next = now.Add(retry.After(dep.looks, firstRetry, lastRetry))
}

// isClean reports whether nothing of an earlier job is left on the GPU: no process of a job that
// does not hold the GPU, no dead process, and none that serves MPS to no job. Moreover, the memory
// that belongs to no process must be no more than before the job came.
func (b *inventory) isClean(d *device) bool {
	for _, p := range d.Processes {
		id := d.jobs[p.PID]
		if p.Dead || id != 0 && !b.jobs.Holds(id, d.UUID) || p.ServesMPS() && !b.jobs.Held(d.UUID) {
			return false
		}
	}
	rest := b.unassignedMem(d)
	return rest < 0 || d.baselineBytes < 0 || rest <= d.baselineBytes+b.policy.MemSlackBytes
}

// Leave marks the GPUs of a job that has ended, or is parked from now on, as not clean. Only a
// sample with the given number or a higher one can show that they are clean. A job that ends while
// it is parked has left its GPUs already.
func (b *Book) Leave(l *tracked.Job, number uint64, now time.Time) {
	l.LeaveGPUs()
	for _, r := range l.HeldGPUs() {
		b.unkillableOn[r.UUID] = slices.DeleteFunc(b.unkillableOn[r.UUID], func(id job.ID) bool { return id == l.ID })
		left := &cleanup{
			job: l.ID, attempt: l.Attempt.Number, since: now, sampleSeq: number, baselineBytes: -1,
			uid: l.Person().UID, began: l.Beginning(), ended: l.Lifetime().End(now),
		}
		left.unsure = left.began.After(now)
		b.markUnsure(left.job)
		if at := b.Position(&r); at >= 0 {
			b.devices[at].cleanup, left.earlier = left, b.devices[at].cleanup
		} else {
			b.cleanups[r.UUID], left.earlier = left, b.cleanups[r.UUID] // no sample has shown the GPU yet
		}
	}
}

// NextSample returns the number of a new sample, for which the caller then asks.
func (b *Book) NextSample() uint64 {
	b.sampleSeq++
	return b.sampleSeq
}

// IsFresh reports whether the last good sample is fresh enough to promise memory.
func (b *inventory) IsFresh(now time.Time) bool {
	return now.Sub(b.lastGoodSample) <= b.policy.FreshFor
}

// state returns the state of the GPU as placement uses it, with the reason for people.
func (b *inventory) state(d *device, now time.Time) (sched.GPUState, job.Message) {
	state, why := b.stateUnproved(d, now)
	if state == sched.OK && d.proof.isDue(b) &&
		(!d.proof.begun.IsZero() || b.jobs.ShareHeld(d.UUID) < job.WholeGPU) {
		return sched.Cleaning, job.Say("detail/proving")
	}
	return state, why
}

// stateUnproved returns the state that the GPU has if no test with CUDA is due.
func (b *inventory) stateUnproved(d *device, now time.Time) (sched.GPUState, job.Message) {
	control := b.controls[d.UUID]
	_, fault := b.neededRecovery(d)
	switch {
	case b.last.problem != "":
		return sched.Unknown, job.Text(b.last.problem.Short())
	case !b.isOffered(d):
		return sched.Drained, job.Say("detail/not-offered")
	case b.policy.SlurmGPUs.Has(d.Minor):
		return sched.Drained, job.Say("detail/slurm")
	case !d.present:
		return sched.Lost, job.Say("detail/not-listed")
	case d.Health != gpu.HealthOK && !fault.IsZero() && d.HealthDetail != "":
		return sched.Lost, job.Say("detail/both", d.HealthDetail, fault)
	case d.Health != gpu.HealthOK && !fault.IsZero():
		return sched.Lost, fault
	case d.Health != gpu.HealthOK:
		return sched.Lost, job.Text(d.HealthDetail)
	case d.MIG:
		return sched.Lost, job.Say("detail/mig")
	case openTo(b, d) != 0:
		return sched.Drained, job.Say("detail/open", openTo(b, d))
	case b.policy.StaleAfter > 0 && now.Sub(b.lastGoodSample) > b.policy.StaleAfter:
		return sched.Unknown, job.Say("detail/stale")
	case !fault.IsZero():
		return sched.Sick, fault
	case control.Paused && (control.Until.IsZero() || now.Before(control.Until)):
		if control.Drain {
			return sched.Drained, job.Text(control.Reason)
		}
		return sched.Paused, job.Text(control.Reason)
	case !d.failing.until.IsZero():
		return sched.Suspect, job.Say("detail/failing", d.failing.jobs, d.failing.until)
	case d.cleanup == nil && d.failing.next.IsZero():
		return sched.OK, job.Message{}
	case d.cleanup != nil && now.Sub(d.cleanup.since) > b.policy.CleaningTimeout:
		what, _ := b.residue(d)
		return sched.Suspect, what
	}
	return sched.Cleaning, job.Message{}
}

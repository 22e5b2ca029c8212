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

// device is one GPU over time. Nothing of it is durable: after a restart the
// first sample tells.
type device struct {
	gpu.Device
	present       bool           // in the last sample
	jobs          map[int]job.ID // pid → job, of its processes
	strays        map[int]bool   // those of these that are outside the unit of their job
	cleanup       *cleanup       // the job that left it, until it is clean
	baselineBytes int64          // memory that no process accounted for when the last job came; -1 unknown

	revoked   revocation
	failing   failing
	began     map[*sched.Account]time.Time // of each account: when the last job did that did well on it
	failed    map[*sched.Account]failure   // of each account: of the last job that failed at once on it
	lostSince time.Time                    // zero: it is not
	outside   []job.Foreign                // of the last sample; nil: not looked for yet
	energy    uint64                       // millijoules since the driver was loaded, by the last whole sample; 0 unknown
	use       deviceUse
}

// cleanup is a job that left a GPU which is not known to be clean yet.
type cleanup struct {
	job           job.ID // 0 unknown
	attempt       int    // 0 unknown
	since         time.Time
	sampleSeq     uint64 // a sample of this number or later counts
	looks         int    // that showed it not clean
	next          time.Time
	baselineBytes int64        // of a GPU that is not among the devices meanwhile; -1 unknown
	uid           int          // of the job's person
	began         time.Time    // when the attempt of the job did
	ended         tracked.Span // when it did
	earlier       *cleanup     // of a job that left it before, since it was clean last; nil: there is none
	unsure        bool         // when that was: the clock was set back while no daemon was there
	noted         []int        // processes outside of their unit that were reported
}

// The times between looks at a GPU that is not clean.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// unaccounted is the memory in use that the driver assigns to no process, or
// -1 when it does not say how much its processes use, or the kernel uses some,
// too. Where it does not say who they are, what is in use while no job has the GPU
// belongs to no process.
func (b *inventory) unaccounted(d *device) int64 {
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

// Sampled takes a sample. What it shows of a GPU or its processes becomes
// findings.
func (b *Book) Sampled(e *Sample, now time.Time) {
	b.seen, b.last.problem, b.last.detail = true, e.Snap.Problem, e.Snap.Detail
	b.persons = e.Persons
	for _, d := range b.devices {
		d.present = false
	}
	if b.last.problem != "" {
		return
	}
	b.lastGoodSample, b.links = now, e.Snap.Links
	b.last.driver, b.last.cuda = e.Snap.Driver, e.Snap.CUDAVersion
	for _, g := range e.Snap.Devices {
		if b.offered(&device{Device: g}) || b.find(g) != nil { // which may have had another number
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
	b.confirmRecovery(e.Number)
	b.findLost(now)
	early := b.pendingFaults // reports that came before the GPUs were known
	b.pendingFaults = nil
	for _, e := range early {
		b.Faulted(e)
	}
}

// merge adds one device of a sample. A GPU that answers with an error
// keeps the figures it had; one that was never read has no UUID and is known
// by its index until it says who it is.
func (b *Book) merge(g gpu.Device, e *Sample, now time.Time) {
	d := b.find(g)
	if d == nil {
		d = &device{Device: g, baselineBytes: -1}
		b.devices = append(b.devices, d)
		b.inventoryVersion++
	}
	if d.Index != g.Index { // the driver counts only those that are there
		d.Index = g.Index
		b.inventoryVersion++
	}
	d.present = true
	if g.Health != gpu.HealthOK {
		d.Health, d.HealthDetail = g.Health, g.HealthDetail
		return
	}
	if d.Name != g.Name || d.total() != (&device{Device: g}).total() || d.UUID != g.UUID {
		b.inventoryVersion++
	}
	if d.RowsPending && !g.RowsPending { // which nothing but a reset does
		b.wasReset(d)
	}
	first, before := d.jobs == nil, d.jobs
	d.Device, d.outside = g, nil
	if !e.Snap.Look {
		d.energy = g.EnergyMilliJ
	}
	d.jobs, d.strays = map[int]job.ID{}, map[int]bool{}
	if first {
		b.restoreLeak(d)
	}
	b.restoreCleanup(d)
	for i := range g.Processes {
		p := &g.Processes[i]
		id, ok := e.Jobs[p.PID]
		if ok {
			b.join(p, id)
			if l := b.jobs.Active(id); l != nil && !p.Dead {
				l.Lifetime().SawProcess(e.taken(now))
			}
		} else if id, ok = b.stray(d, p, before[p.PID], e.began(p, now)); ok {
			d.strays[p.PID] = !p.Dead
		}
		if ok {
			d.jobs[p.PID] = id
		}
		away := first && p.Dead && b.jobs.ShareHeld(d.UUID) < job.WholeGPU // it was left while we were
		if d.cleanup == nil && (away || ok && !b.jobs.Holds(id, d.UUID)) {
			d.cleanup = &cleanup{job: id, since: now}
		}
	}
}

// restoreCleanup has a GPU be cleaned that a job left while no sample showed it.
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

// arrange puts the devices in the order of their indexes. One that has gone keeps
// the index it had, which the driver may have given to another: what is there
// comes first, and is what people mean by the number.
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

// find returns the device that a sample speaks of, nil for a new one.
func (b *inventory) find(g gpu.Device) *device {
	for _, d := range b.devices {
		nameless := g.UUID == "" || d.UUID == ""
		if (!nameless && d.UUID == g.UUID) || (nameless && d.Index == g.Index) {
			return d
		}
	}
	return nil
}

// checkCleanup gives a GPU free again when a sample taken after the job
// left shows it clean, or plans the next look.
func (b *Book) checkCleanup(d *device, e *Sample, now time.Time) {
	dep := d.cleanup
	if dep == nil || e.Number < dep.sampleSeq || !d.present || d.Health != gpu.HealthOK {
		return
	}
	if b.clean(d) {
		d.cleanup = nil
		if g := b.controls[d.UUID]; !g.Fault.Left.What.IsZero() { // what recordLeak recorded is over
			g.Fault.Left = job.GPULeft{}
			b.control(g)
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

// clean reports whether nothing of an earlier job is on the GPU: no process of a
// job that does not hold it, no process that is dead, no memory that no process
// accounts for beyond what was there before.
func (b *inventory) clean(d *device) bool {
	for _, p := range d.Processes {
		if id := d.jobs[p.PID]; p.Dead || (id != 0 && !b.jobs.Holds(id, d.UUID)) {
			return false
		}
	}
	rest := b.unaccounted(d)
	return rest < 0 || d.baselineBytes < 0 || rest <= d.baselineBytes+b.policy.MemSlackBytes
}

// Leave marks the GPUs of a job that ended, until the sample with the number.
func (b *Book) Leave(l *tracked.Job, number uint64, now time.Time) {
	for _, r := range l.Attempt.GPUs {
		b.unkillableOn[r.UUID] = slices.DeleteFunc(b.unkillableOn[r.UUID], func(id job.ID) bool { return id == l.ID })
		left := &cleanup{
			job: l.ID, attempt: l.Attempt.Number, since: now, sampleSeq: number, baselineBytes: -1,
			uid: l.Person().UID, began: l.Beginning(), ended: l.Lifetime().End(now),
		}
		left.unsure = left.began.After(now)
		b.doubt(left.job)
		if at := b.Position(&r); at >= 0 {
			b.devices[at].cleanup, left.earlier = left, b.devices[at].cleanup
		} else {
			b.cleanups[r.UUID], left.earlier = left, b.cleanups[r.UUID] // no sample has shown it yet
		}
	}
}

// NextSample returns the number of a new look at the GPUs, which the caller asks for.
func (b *Book) NextSample() uint64 {
	b.sampleSeq++
	return b.sampleSeq
}

// IsFresh reports whether the last sample is good for a memory promise.
func (b *inventory) IsFresh(now time.Time) bool {
	return now.Sub(b.lastGoodSample) <= b.policy.FreshFor
}

// state is what placement may do with the GPU, with a word of explanation.
func (b *inventory) state(d *device, now time.Time) (sched.GPUState, job.Message) {
	control := b.controls[d.UUID]
	_, fault := b.needs(d)
	switch {
	case b.last.problem != "":
		return sched.Unknown, job.Text(b.last.problem.Short())
	case !b.offered(d):
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

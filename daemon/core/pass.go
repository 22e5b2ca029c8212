package core

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/gpu"
)

// snapshot is the core as placement sees it, valid until the next call.
func (c *Core) snapshot(now time.Time) *sched.Snapshot {
	s := c.planning.blank()
	s.Now, s.Policy = sched.At(now), c.policy.Sched
	s.Reserved = c.reserved()
	s.Host = sched.Host{MemBytes: c.policy.HostMemBytes, MaxRunning: c.policy.MaxRunning, Running: c.jobs.activeCount()}
	if share := c.policy.NoGPUShare; c.gpus.count() > 0 && share > 0 && share < 100 {
		s.Host.NoGPUSlots = (s.Host.MaxRunning*share + 99) / 100
		s.Host.NoGPUMem = s.Host.MemBytes * int64(share) / 100
	}
	c.gpus.fill(s, now)
	for _, id := range c.jobs.activeIDs() {
		l := c.jobs.active(id)
		s.Host.PromisedMem += l.job.Request.MemBytes
		s.Running = append(s.Running, c.running(l, s, now))
	}
	c.lane.move(c.gpus.count(), &c.policy.Sched, now)
	s.GuardOpen = c.lane.open()
	return s
}

// fill puts the GPUs into a snapshot.
func (b *gpuBook) fill(s *sched.Snapshot, now time.Time) {
	s.Machine, s.Host.GPUsSeen = b.machine, b.seen && b.problem == ""
	switch b.problem {
	case gpu.ProblemLibraryMissing, gpu.ProblemDriverMissing, gpu.ProblemUnsupported:
		s.Host.NoGPUs = b.problem.Sentence()
	}
	for _, d := range b.devices {
		g := b.schedGPU(d, now)
		if n := len(s.GPUs); n < cap(s.GPUs) {
			g.Held = s.GPUs[:n+1][n].Held[:0] // memory of an earlier pass
		}
		s.GPUs = append(s.GPUs, g)
	}
	b.weigh(s)
}

// running is an active job as placement sees it; its parts are put on the GPUs.
func (c *Core) running(l *live, s *sched.Snapshot, now time.Time) sched.Running {
	j := &l.job
	since := j.Attempt.PlacedAt
	r := sched.Running{
		ID: j.ID, MemBytes: j.Request.MemBytes, Preemptible: j.Request.Preemptible, Priority: j.Request.Priority,
		Account: l.account, Since: sched.At(j.QueuedAt), Start: sched.At(since), Expected: j.Expected, Served: j.Served, Guarded: j.Guarded,
		Stopping: j.State == job.Ending || j.Stop != "",
	}
	if r.Stopping {
		stop := now
		if j.StopAt.After(now) {
			stop = j.StopAt
		}
		r.Notice, r.End = stop.Sub(now), sched.At(stop.Add(j.Request.Grace.Duration()))
	} else {
		r.Notice, r.End = c.notice(j), sched.At(expectedEnd(j, now))
	}
	first := c.planning.granted()
	for _, ref := range j.Attempt.GPUs {
		at := c.gpus.position(&ref)
		if at < 0 {
			continue
		}
		h := sched.Hold{Job: j.ID, Milli: ref.Share(), PromiseBytes: ref.PromiseBytes, SeenBytes: c.gpus.seenBytes(at, j.ID)}
		s.GPUs[at].Held = append(s.GPUs[at].Held, h)
		c.planning.grant(sched.Grant{GPU: at, Milli: h.Milli, Bytes: max(h.PromiseBytes, h.SeenBytes)})
	}
	r.Grants = c.planning.grantedSince(first)
	return r
}

// position finds a GPU among the devices, as a rule where it was; -1 where it
// is gone.
func (b *gpuBook) position(ref *job.GPURef) int {
	if i := ref.Index; i >= 0 && i < len(b.devices) && b.devices[i].UUID == ref.UUID {
		return i
	}
	return slices.IndexFunc(b.devices, func(d *device) bool { return d.UUID == ref.UUID })
}

func (b *gpuBook) schedGPU(d *device, now time.Time) sched.GPU {
	g := sched.GPU{
		Index: d.Index, Model: d.Name, LoadPercent: d.UtilGPUPercent,
		MemTotalBytes: d.total(), MemFreeBytes: int64(d.MemFreeBytes),
		UsableBytes: d.total() - max(0, b.unaccounted(d)), SlackBytes: b.policy.MemSlackBytes,
	}
	b.foreignUse(d, &g)
	g.State, g.Detail = b.state(d, now)
	if d.after != nil {
		g.After = d.after.job
	}
	switch g.State {
	case sched.Cleaning:
		g.BackAt = sched.At(now.Add(time.Second))
	case sched.Paused, sched.Drained:
		if until := b.controls[d.UUID].Until; !until.IsZero() {
			g.BackAt = sched.At(until)
		}
	}
	return g
}

// total is the memory that jobs could have on an idle GPU: the driver's figure
// less what it keeps for itself, which version 2 of its answer counts neither as
// used nor as free (0.3 to 2.3 GiB, by model and driver).
func (d *device) total() int64 { return int64(d.MemTotalBytes) - int64(d.MemReservedBytes) }

// weigh fills in the links between the GPUs.
func (b *gpuBook) weigh(s *sched.Snapshot) {
	s.Links = s.Links[:0]
	if len(b.links) == 0 {
		return
	}
	n := len(b.devices)
	s.Links = append(s.Links, make([]int32, n*n)...)
	for _, link := range b.links {
		i, j := slices.Index(b.devices, b.byIndex(link.A)), slices.Index(b.devices, b.byIndex(link.B))
		if i >= 0 && j >= 0 {
			s.Links[i*n+j], s.Links[j*n+i] = int32(link.Weight()), int32(link.Weight())
		}
	}
}

// byIndex finds the GPU that has the index now; nil: none.
func (b *gpuBook) byIndex(index int) *device {
	for _, d := range b.devices {
		if d.Index == index {
			return d
		}
	}
	return nil
}

// ref names the GPU that has the index now, without a UUID where there is none.
func (b *gpuBook) ref(index int) (r job.GPURef) {
	if d := b.byIndex(index); d != nil {
		r = job.GPURef{UUID: d.UUID, Index: d.Index, Minor: d.Minor}
	}
	return r
}

// count is how many GPUs there are.
func (b *gpuBook) count() int { return len(b.devices) }

// among reports of each GPU whether it is one of these.
func (b *gpuBook) among(refs []job.GPURef) []bool {
	list := make([]bool, len(b.devices))
	for i, d := range b.devices {
		list[i] = slices.ContainsFunc(refs, func(r job.GPURef) bool { return r.UUID == d.UUID })
	}
	return list
}

// seenBytes is the memory that a job was last seen to use on a GPU.
func (b *gpuBook) seenBytes(at int, id job.ID) int64 {
	d, sum := b.devices[at], int64(0)
	for _, p := range d.Processes {
		if d.jobs[p.PID] == id {
			sum += max(0, p.UsedBytes)
		}
	}
	return sum
}

// plan decides without doing anything.
func (c *Core) plan(now time.Time) *sched.Plan { return c.planning.plan(c.snapshot(now)) }

// pass plans and carries out the plan. A placement that rests on free GPU
// memory waits for a fresh look at it, and so does everything behind it.
func (c *Core) pass(now time.Time) {
	c.planning.setWake(time.Time{})
	if !c.systemd.listed() || c.systemd.leaving() || c.planning.waiting() == 0 {
		return
	}
	if at := c.systemd.startsAt(); now.Before(at) {
		c.planning.setWake(at)
		return
	}
	wake := c.systemd.unbar(now)
	p := c.plan(now)
	if p.Wake != sched.Eternity && (wake.IsZero() || p.Wake.Time().Before(wake)) {
		wake = p.Wake.Time()
	}
	c.planning.setWake(wake)
	for i := range p.Place {
		l := c.jobs.get(p.Place[i].Job)
		if r := &l.job.Request; (r.GPUMemBytes > 0 || r.Part() > 0) && !c.gpus.isFresh(now) {
			c.look()
			return
		}
		c.place(l, &p.Place[i], now)
	}
	for _, v := range p.Preempt {
		l := c.jobs.get(v.Victim)
		l.job.StopFor = v.For
		c.halt(l, job.StopPreempt, "", now)
	}
}

func (c *Core) place(l *live, p *sched.Placement, now time.Time) {
	if l.job.Tasks != nil {
		l = c.spawn(l, now)
	}
	number := 1
	if l.tries = triesOf(&l.job); l.job.Attempt != nil {
		number = l.job.Attempt.Number + 1
		c.keepLast(l, now)
	}
	c.gpus.rebase(p.Grants)
	l.job.Attempt = &job.Attempt{Number: number, GPUs: c.gpus.refs(p.Grants), BootID: c.systemd.runID(), PlacedAt: now}
	l.job.Stop, l.job.StopBy, l.job.StopFor, l.job.StopAt, l.job.Warned = "", "", 0, time.Time{}, false
	l.job.GPUError, l.job.Left, l.job.Breach = nil, "", nil
	l.job.NotBefore = time.Time{} // or a clock that is set back would bring a back-off again that is over
	l.job.Guarded = p.Guarded
	c.move(l, job.Starting, now)
	c.charge(l, now)
	c.launch(l)
}

// keepLast records the end of an attempt that the next one follows in the same
// step.
func (c *Core) keepLast(l *live, now time.Time) {
	if l.job.Attempt.EndedAt.Equal(now) && l.touched {
		j := l.job
		c.step.record(job.Record{Job: &j})
	}
}

// rebase notes what is in use of GPUs before the first job comes.
func (b *gpuBook) rebase(grants []sched.Grant) {
	for _, g := range grants {
		if d := b.devices[g.GPU]; !b.jobs.held(d.UUID) {
			d.base = b.unaccounted(d)
		}
	}
}

// refs names the GPUs of grants, which are in order.
func (b *gpuBook) refs(grants []sched.Grant) []job.GPURef {
	refs := make([]job.GPURef, 0, len(grants))
	for _, g := range grants {
		d := b.devices[g.GPU]
		ref := job.GPURef{UUID: d.UUID, Index: d.Index, Minor: d.Minor, PromiseBytes: g.Bytes}
		if g.Milli != job.WholeGPU {
			ref.Milli = g.Milli
			if total := int64(d.MemTotalBytes); total > 0 {
				ref.ChargeMilli = max(g.Milli, int(g.Bytes*job.WholeGPU/total))
			}
		}
		if b.policy.CPUAffinity {
			ref.CPUs = d.CPUs
		}
		refs = append(refs, ref)
	}
	return refs
}

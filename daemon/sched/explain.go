package sched

import (
	"slices"

	"github.com/gpusched/gpusched/daemon/job"
)

// Explain returns the reasons why a job does not start. If the job fits, it returns nil. The
// reasons refer to the last call of Plan or Placements, which must have been for the same moment.
// Reasons about the owner and the whole machine come first. If the job asks for GPUs, one reason
// for each GPU follows, in the order of the indexes.
func (p *Planner) Explain(w *Waiting) []job.Reason {
	c := p.cursorOf(w)
	sh := c.bucket.shape
	q := c.query(p.pass.s.Now, whenNow)
	l := p.backfill.capacityBehind(&q, &p.room.now, p.backfill.delayedMask(&c))
	why := append(p.quotaReasons(w, sh), p.hostReasons(sh, l)...)
	if next := p.backfill.laneKeptFrom(w, c.bucket.run); next != 0 {
		why = append(why, job.Reason{Code: job.ReasonLaneKept, GPU: job.NoGPU, Job: next})
	}
	if never := p.pass.s.Never(w.Account, w.Request); never != nil && !w.Returns {
		why = append([]job.Reason{{Code: job.ReasonTooMuch, GPU: job.NoGPU, Detail: never.Message}}, why...)
	}
	if p.pass.s.cutsOff(c.bucket) {
		return append(why, job.Reason{Code: job.ReasonShutdown, GPU: job.NoGPU, Detail: p.pass.s.End.Detail})
	}
	if sh.milli == 0 {
		return why
	}
	if len(p.pass.s.GPUs) == 0 {
		return append(why, job.Reason{Code: job.ReasonNoSample, GPU: job.NoGPU})
	}
	perGPU := make([]job.Reason, 0, len(p.pass.s.GPUs))
	would := 0
	for i := range p.pass.s.GPUs {
		reason := p.explainGPU(&q, l, i)
		if reason.Code == job.ReasonGPUFree {
			would++
		}
		perGPU = append(perGPU, reason)
	}
	if len(why) == 0 && would >= w.Request.Devices() && p.room.hasRoomFor(&q, l) {
		return nil
	}
	if need := w.Request.Devices(); need > 1 && would < need {
		why = append(why, job.Reason{Code: job.ReasonGPUCount, GPU: job.NoGPU, Need: int64(need), Have: int64(would)})
	}
	return append(why, perGPU...)
}

// cursorOf returns a cursor that points to a job, which need not be in the queue.
func (p *Planner) cursorOf(w *Waiting) cursor {
	sh := shapeOf(w.Request, w.needsOf())
	sh.qualify(p.pass.s)
	b := newBucket(keyOf(w, sh, w.Request.Priority))
	e := newEntry(w, b)
	return p.pass.cursor(b, e)
}

// hostReasons returns a reason for each host resource that the job asks for and the capacity lacks.
func (p *Planner) hostReasons(sh *resourceShape, l *capacity) []job.Reason {
	var why []job.Reason
	add := func(code job.ReasonCode, need, have int64, most job.Message) {
		why = append(why, job.Reason{Code: code, GPU: job.NoGPU, Need: need, Have: have, Detail: most})
	}
	if l.slots <= 0 && sh.slot != noSlot {
		most := p.pass.s.hasMost(func(*Running) int64 { return 1 }, count)
		add(job.ReasonMaxRunning, int64(p.pass.s.Host.MaxRunning), 0, most)
	}
	if sh.mem > max(0, l.mem) {
		most := p.pass.s.hasMost(func(r *Running) int64 { return r.MemBytes }, size)
		add(job.ReasonHostMemory, sh.mem, max(0, l.mem), most)
	}
	if !l.hasCPUs(sh.cpus) {
		add(job.ReasonHostCPUs, int64(sh.cpus), int64(max(0, l.cpus)), p.pass.s.hasMost(cpusOf, cpus))
	}
	if len(why) > 0 || sh.milli > 0 {
		return why
	}
	if l.noGPU.slots <= 0 {
		add(job.ReasonNoGPUJobs, int64(p.pass.s.Host.NoGPUSlots), 0, p.pass.s.hasMost(countNoGPU, count))
	}
	if !l.noGPUHasMem(sh.mem) {
		add(job.ReasonNoGPUMemory, sh.mem, max(0, l.noGPU.mem), p.pass.s.hasMost(memNoGPU, size))
	}
	if !l.noGPU.hasCPUs(sh.cpus) {
		add(job.ReasonNoGPUCPUs, int64(sh.cpus), int64(max(0, l.noGPU.cpus)), p.pass.s.hasMost(cpusNoGPU, cpus))
	}
	return why
}

// countNoGPU, memNoGPU and cpusNoGPU return how many job slots, how much memory and how many CPUs a
// job without GPUs has. For a job with GPUs they return 0.
func countNoGPU(r *Running) int64 {
	if r.hostShare().slot != noGPUSlot {
		return 0
	}
	return 1
}

func memNoGPU(r *Running) int64  { return countNoGPU(r) * r.MemBytes }
func cpusNoGPU(r *Running) int64 { return countNoGPU(r) * int64(r.CPUs) }
func cpusOf(r *Running) int64    { return int64(r.CPUs) }

// hasMost says which user's running jobs have the most of a resource, such as "bob has 22G".
func (s *Snapshot) hasMost(of func(*Running) int64, spelled func(int64) any) job.Message {
	sums, most, who := map[*Account]int64{}, int64(0), ""
	for i := range s.Running {
		r := &s.Running[i]
		if sums[r.Account] += of(r); sums[r.Account] > most {
			most, who = sums[r.Account], r.Account.Name
		}
	}
	if most == 0 {
		return job.Message{}
	}
	return job.Say("detail/has-most", who, spelled(most))
}

func count(n int64) any { return n }
func size(n int64) any  { return job.Size(n) }
func cpus(n int64) any  { return job.CPUs(n) }
func gpus(n int64) any  { return job.FormatGPUs(int(n)) }

// quotaReasons returns the quotas that refuse the job. If none refuses it, quotaReasons returns the
// quota in which another job of the same account or group keeps its place.
func (p *Planner) quotaReasons(w *Waiting, sh *resourceShape) []job.Reason {
	if w.Returns {
		return nil
	}
	why := quotaReasons(w.Account, &sh.amount, p.pass.s)
	c := p.cursorOf(w)
	if e := p.pass.q.entries[w.ID]; e != nil { // if the job is queued, its entry may be part of a batch
		p.pass.rank(&c.rank, e.bucket, e)
	}
	if ahead := p.limits.behindOwn(&c); ahead.hold != nil && len(why) == 0 {
		why = append(why, job.Reason{
			Code: job.ReasonQuotaKept, GPU: job.NoGPU, Job: ahead.hold.id, Detail: ahead.quotas.label(),
		})
	}
	return why
}

// quotaReasons returns the quotas of the account and its groups that refuse a job. If the account
// is barred, it also returns the reason for that.
func quotaReasons(a *Account, n *amount, s *Snapshot) []job.Reason {
	var why []job.Reason
	add := func(code job.ReasonCode, q *Account, need, have int64) {
		why = append(why, job.Reason{Code: code, GPU: job.NoGPU, Detail: q.label(), Need: need, Have: have})
	}
	lacks := func(code job.ReasonCode, q *Account, need, has, most int64, spelled func(int64) any) {
		left := max(0, most-has)
		of := job.Say("detail/quota-left", q.label(), spelled(left), spelled(most))
		why = append(why, job.Reason{Code: code, GPU: job.NoGPU, Detail: of, Need: need, Have: left})
	}
	if a.Barred != "" {
		why = append(why, job.Reason{Code: job.ReasonAccount, GPU: job.NoGPU, Detail: job.Text(a.Barred)})
	}
	for q := range a.quotaAccounts {
		if q.MaxJobs > 0 && q.Jobs >= q.MaxJobs {
			add(job.ReasonQuotaJobs, q, int64(q.MaxJobs), int64(q.Jobs))
		}
		if q.MaxMilli > 0 && n.milli > 0 && q.Milli+n.quota > q.MaxMilli {
			lacks(job.ReasonQuotaGPUs, q, int64(n.quota), int64(q.Milli), int64(q.MaxMilli), gpus)
		}
		if q.MaxMem > 0 && n.mem > 0 && q.host.mem+n.mem > q.MaxMem {
			lacks(job.ReasonQuotaMem, q, n.mem, q.host.mem, q.MaxMem, size)
		}
		if q.MaxCPUs > 0 && n.cpus > 0 && q.host.cpus+n.cpus > q.MaxCPUs {
			lacks(job.ReasonQuotaCPUs, q, int64(n.cpus), int64(q.host.cpus), int64(q.MaxCPUs), count)
		}
		bounded := q.MaxUsage > 0 && s.Policy.HalfLife > 0 && n.milli > 0
		if used := q.GPUTime(s.Now, s.Policy.HalfLife); bounded && used >= q.MaxUsage {
			add(job.ReasonQuotaHours, q, int64(q.MaxUsage.Hours()), int64(used.Hours()))
		}
	}
	return why
}

// explainGPU returns the most important reason why the job does not get this GPU. The capacity l is
// what the reservations leave to the job.
func (p *Planner) explainGPU(q *query, l *capacity, i int) job.Reason {
	g := &p.pass.s.GPUs[i]
	reason := explainState(q.shape, g)
	if reason.Code != "" {
		reason.GPU = g.Index
		return reason
	}
	reason = p.explainCapacity(q, &p.room.now, i)
	if reason.Code == "" {
		if r := p.pass.s.advanceReservationFor(q, i); r != nil {
			reason = job.Reason{Code: job.ReasonGPUReserved, Detail: r.Detail}
		} else if p.explainCapacity(q, l, i).Code != "" || !l.gpus[i].ok {
			reason = job.Reason{Code: job.ReasonGPUKept, Job: p.backfill.jobOn(i)}
		} else if why, ok := q.shape.withinLimits(&p.pass.s.Policy, g, whenNow); !ok {
			reason = why
		} else {
			reason.Code = job.ReasonGPUFree
		}
	}
	reason.GPU = g.Index
	return reason
}

// explainState returns the reason that lies in the GPU's own state, or a zero reason.
func explainState(sh *resourceShape, g *GPU) job.Reason {
	switch {
	case !sh.allows(g.Index):
		return job.Reason{Code: job.ReasonGPUExcluded}
	case !sh.takes(g) && g.isType(sh.gpuType) && g.Slice:
		return job.Reason{Code: job.ReasonGPUType, Detail: job.Say("detail/slice-named", g.Model)}
	case !g.isType(sh.gpuType):
		return job.Reason{Code: job.ReasonGPUType, Detail: job.Text(g.Model)}
	case sh.mates.UID() >= 0 && !g.NoMPS.IsZero():
		return job.Reason{Code: job.ReasonGPUNoParts, Detail: g.NoMPS}
	case sh.whole == 0 && g.Slice:
		return job.Reason{Code: job.ReasonGPUNoParts, Detail: job.Say("detail/slice-whole")}
	case sh.whole == 0 && g.WholeOnly:
		return job.Reason{Code: job.ReasonGPUNoParts}
	case g.State == Lost:
		return job.Reason{Code: job.ReasonGPULost, Detail: g.Detail}
	case g.State == Sick:
		return job.Reason{Code: job.ReasonGPUSick, Detail: g.Detail}
	case len(g.Held) > 0 && sh.part == 0:
		return g.heldBy()
	case g.State == Unknown:
		return job.Reason{Code: job.ReasonGPUUnknown, Detail: g.Detail}
	case g.State == Paused:
		return job.Reason{Code: job.ReasonGPUPaused, Detail: g.Detail}
	case g.State == Drained:
		return job.Reason{Code: job.ReasonGPUDrained, Detail: g.Detail}
	case g.State == Cleaning:
		return job.Reason{Code: job.ReasonGPUCleaning, Job: g.CleaningAfter, Detail: g.Detail}
	case g.State == Suspect:
		return job.Reason{Code: job.ReasonGPUSuspect, Job: g.CleaningAfter, Detail: g.Detail}
	}
	return job.Reason{}
}

// heldBy returns a reason that names the jobs on a GPU. If there are many, it names only the first
// of them.
func (g *GPU) heldBy() job.Reason {
	r := job.Reason{Code: job.ReasonGPUBusy, Job: g.Held[0].Job}
	if g.Held[0].Mates.UID() >= 0 {
		r.Code = job.ReasonGPUMPS
	}
	if len(g.Held) > 1 {
		r.Have = int64(len(g.Held))
		for _, h := range g.Held[1:min(len(g.Held), job.MaxHolders)] {
			r.Others = append(r.Others, h.Job)
		}
	}
	return r
}

// explainCapacity returns the reason why too little of the GPU is left for the job.
func (p *Planner) explainCapacity(q *query, l *capacity, i int) job.Reason {
	sh, r, g := q.shape, &l.gpus[i], &p.pass.s.GPUs[i]
	if !r.mates.Admits(sh.mates) && r.milli > 0 && len(g.Held) > 0 {
		return g.heldBy()
	}
	if sh.whole > 0 && p.pass.s.wholeFits(q, l, i) || sh.part > 0 && p.pass.s.partFits(q, l, i) {
		return job.Reason{}
	}
	need := job.WholeGPU
	if sh.part > 0 {
		need = sh.part
	}
	switch {
	case r.milli < p.room.start.gpus[i].milli && l == &p.room.now:
		return job.Reason{Code: job.ReasonGPUKept, Job: p.placedOn(i)}
	case r.milli <= 0 && len(g.Held) > 0:
		return g.heldBy()
	case r.milli < need:
		return job.Reason{Code: job.ReasonGPUShare, Need: int64(need), Have: int64(max(0, r.milli))}
	case sh.part == 0 && sh.alone && g.Occupied:
		return job.Reason{Code: job.ReasonGPUForeign}
	case need < job.WholeGPU && sh.gpuMem == 0:
		return job.Reason{Code: job.ReasonGPUMemory, Need: sh.partBytes(g), Have: max(0, r.mem)}
	}
	return job.Reason{Code: job.ReasonGPUMemory, Need: sh.gpuMem, Have: max(0, r.mem)}
}

// Placed reports whether the last plan starts the job.
func (p *Planner) Placed(id job.ID) bool {
	return slices.ContainsFunc(p.out.Place, func(x Placement) bool { return x.Job == id })
}

// placedOn returns the job to which the last plan gave a part of the GPU.
func (p *Planner) placedOn(gpu int) job.ID {
	for i := range p.out.Place {
		if granted(p.out.Place[i].Grants, gpu) {
			return p.out.Place[i].Job
		}
	}
	return 0
}

// Kept returns the jobs for which the last plan reserves GPUs.
func (p *Planner) Kept() (list []job.ID) {
	for i := range p.backfill.list {
		list = append(list, p.backfill.list[i].id)
	}
	return list
}

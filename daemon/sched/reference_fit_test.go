package sched

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// machine is what the machine has free at one moment.
type machine struct {
	gpus  []refGPU
	mem   int64
	cpus  int
	slots int

	noGPUMem   int64 // what is left of the host's part for jobs without GPUs
	noGPUCPUs  int
	noGPUSlots int
	noGPUJobs  int // number of running jobs without GPUs
}

type refGPU struct {
	ok    bool
	milli int
	jobs  int
	mates []job.Mates // of its jobs
	mem   int64
	since Instant
}

func (m machine) clone() machine {
	m.gpus = slices.Clone(m.gpus)
	return m
}

// refHost is a job's part of the host.
type refHost struct {
	mem    int64
	cpus   int
	slots  int // 0: the job comes back or is parked, and has its slot anyway
	noGPUs bool
}

func (j refJob) host(cpus int) refHost {
	if j.Returns {
		return refHost{}
	}
	return refHost{j.Request.MemBytes, cpus, 1, j.Request.GPUMilli == 0}
}

// hostOf returns a running job's part of the host.
func hostOf(x *Running) refHost {
	return refHost{x.MemBytes, x.CPUs, 1, len(x.Grants) == 0 && x.Quota == 0}
}

// freedBy returns what of the host is free once a running job has ended, or nothing if it is being
// parked.
func freedBy(x *Running) refHost {
	if x.Parks && x.Stopping {
		return refHost{}
	}
	return hostOf(x)
}

// add subtracts resources that a job gets if sign is -1, and adds them back if sign is 1.
func (m *machine) add(sign int, grants []Grant, h refHost) {
	for _, g := range grants {
		m.gpus[g.GPU].milli += sign * g.Milli
		m.gpus[g.GPU].mem += int64(sign) * g.Bytes
		m.gpus[g.GPU].jobs -= sign
		list := slices.Clone(m.gpus[g.GPU].mates)
		if sign < 0 {
			list = append(list, g.Mates)
		} else if i := slices.Index(list, g.Mates); i >= 0 {
			list = slices.Delete(list, i, i+1)
		}
		m.gpus[g.GPU].mates = list
	}
	m.mem += int64(sign) * h.mem
	m.cpus += sign * h.cpus
	m.slots += sign * h.slots
	if h.noGPUs {
		m.noGPUMem += int64(sign) * h.mem
		m.noGPUCPUs += sign * h.cpus
		m.noGPUSlots += sign
		m.noGPUJobs -= sign
	}
}

// usableGPUs lists the GPUs that could serve as whole GPUs, and the GPUs that could serve for the
// part.
func (r *reference) usableGPUs(w *Waiting, m machine, at Instant, when horizon) (whole, part []int) {
	q := w.Request
	for i := range r.s.GPUs {
		g, x := &r.s.GPUs[i], m.gpus[i]
		if !x.ok || x.milli <= 0 || !r.allowed(w, g, i, at) || !r.isCalm(q, g, when) {
			continue
		}
		others := func(o job.Mates) bool { return o != q.Mates || o == job.NoMates }
		if slices.ContainsFunc(x.mates, others) || q.Mates > 0 && !g.NoMPS.IsZero() {
			continue
		}
		bare := q.GPUMemBytes == 0 && q.MaxUsedPercent == 0
		mayPart, mayWhole := true, true
		if w.Returns && q.Part() > 0 { // the part is of the GPU that it was of
			mayPart = g.Index == q.GPUIDs[len(q.GPUIDs)-1]
			mayWhole = !mayPart
		}
		if mayWhole && x.milli == 1000 && x.mem >= q.GPUMemBytes && !(g.Occupied && bare) {
			whole = append(whole, i)
		}
		need, slack := q.GPUMemBytes, int64(0)
		if need == 0 {
			need, slack = g.UsableBytes/1000*int64(q.Part()), g.SlackBytes
		}
		if mayPart && q.Part() > 0 && !g.WholeOnly && x.milli >= q.Part() && x.mem+slack >= need {
			part = append(part, i)
		}
	}
	return whole, part
}

// mayUseGPU reports whether the job may use the GPU.
func mayUseGPU(w *Waiting, g *GPU) bool {
	q := w.Request
	if len(q.GPUIDs) > 0 && !slices.Contains(q.GPUIDs, g.Index) || len(q.GPUIDs) == 0 && len(q.GPUsFrom) > 0 && !slices.Contains(q.GPUsFrom, g.Index) {
		return false
	}
	if slices.Contains(q.ExcludeGPUs, g.Index) {
		return false
	}
	if q.Mates.UID() >= 0 && !g.NoMPS.IsZero() {
		return false
	}
	return !(q.GPUType != "" && !g.isType(q.GPUType) || g.MemTotalBytes < q.GPUMemBytes)
}

func (r *reference) allowed(w *Waiting, g *GPU, pos int, at Instant) bool {
	q := w.Request
	if !mayUseGPU(w, g) {
		return false
	}
	run := 24 * time.Hour
	if q.TimeLimit > 0 {
		run = q.TimeLimit.Duration()
	}
	for _, v := range r.s.Reserved {
		mine := slices.Contains(v.UIDs, w.Account.UID)
		for _, group := range w.Account.Groups {
			mine = mine || slices.Contains(v.Groups, group.Name)
		}
		if v.GPUs[pos] && !mine && at < v.To && at.Add(run) > v.From {
			return false
		}
	}
	return true
}

// isCalm reports whether the GPU's load and used memory are within all limits. It uses what is
// known of them at the horizon.
func (r *reference) isCalm(q *job.Request, g *GPU, when horizon) bool {
	load, bytes := g.LoadPercent, g.MemTotalBytes-g.MemFreeBytes
	if goes := when == whenAhead || when == whenFreed && len(g.Held) > 0; goes {
		bytes = g.ForeignBytes
		if when == whenAhead || !g.ForeignComputes {
			load = 0
		}
	}
	for _, bound := range []int{q.MaxLoadPercent, r.s.Policy.MaxLoadPercent} {
		if bound > 0 && load > bound {
			return false
		}
	}
	used := int(bytes * 100 / max(1, g.MemTotalBytes))
	for _, bound := range []int{q.MaxUsedPercent, r.s.Policy.MaxUsedPercent} {
		if bound > 0 && used > bound {
			return false
		}
	}
	return g.MemTotalBytes-bytes >= r.s.Policy.MinFreeBytes
}

func without(list []int, x int) []int {
	return slices.DeleteFunc(slices.Clone(list), func(i int) bool { return i == x })
}

// hasRoomFor reports whether the machine has what the job asks for.
func (r *reference) hasRoomFor(w *Waiting, m machine, at Instant, when horizon) bool {
	mem, cpus := w.Request.MemBytes, w.Request.CPUs
	if w.Returns {
		mem, cpus, m.slots = 0, 0, 1
	}
	if mem > 0 && mem > m.mem || cpus > 0 && cpus > m.cpus || m.slots < 1 {
		return false
	}
	if w.Request.GPUMilli == 0 && (mem > m.noGPUMem && m.noGPUJobs > 0 || cpus > 0 && cpus > m.noGPUCPUs || m.noGPUSlots < 1) {
		return false
	}
	whole, part := r.usableGPUs(w, m, at, when)
	if w.Request.Part() == 0 {
		return len(whole) >= w.Request.Whole()
	}
	return slices.ContainsFunc(part, func(i int) bool { return len(without(whole, i)) >= w.Request.Whole() })
}

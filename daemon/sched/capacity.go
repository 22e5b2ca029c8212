package sched

import (
	"math"

	"github.com/gpusched/gpusched/daemon/job"
)

// gpuCapacity is what one GPU has left.
type gpuCapacity struct {
	ok    bool
	milli int
	jobs  int
	mem   int64
	mates job.Company // of the jobs that have the GPU
	since Instant     // in a look ahead: when a part of the GPU last became free
}

// capacity is what the machine has left at one moment.
type capacity struct {
	gpus []gpuCapacity
	hostCapacity
}

// hostShare is a job's part of the host's memory and CPUs, and the slot that it takes.
type hostShare struct {
	mem  int64
	cpus int
	slot slotKind
}

// slotKind says which slots a job counts in.
type slotKind int8

const (
	gpuSlot   slotKind = iota // the slots of the machine
	noGPUSlot                 // these, and those for jobs without GPUs
	noSlot                    // none: a parked job returns to its GPUs, or leaves them, and keeps its slot
)

// hostRoom is what is left of the host's memory, CPUs and job slots. An amount without a limit is
// very large.
type hostRoom struct {
	hostShare
	slots int // number of further jobs that may start
}

const unlimited = math.MaxInt64 / 2

// roomOf returns a hostRoom with the given amounts. An amount of 0 means that there is no limit.
func roomOf(mem int64, cpus, slots int) hostRoom {
	return hostRoom{hostShare{mem: orUnlimited(mem), cpus: orUnlimited(cpus)}, orUnlimited(slots)}
}

func orUnlimited[T int | int64](n T) T {
	if n == 0 {
		return unlimited
	}
	return n
}

// move gives back the resources of one job if sign is 1, and takes them if sign is -1.
func (r *hostRoom) move(sign int, h hostShare) {
	r.mem += int64(sign) * h.mem
	r.cpus += sign * h.cpus
	if h.slot != noSlot {
		r.slots += sign
	}
}

// clampTo lowers each value of r that exceeds the value of o.
func (r *hostRoom) clampTo(o *hostRoom) {
	r.mem, r.cpus, r.slots = min(r.mem, o.mem), min(r.cpus, o.cpus), min(r.slots, o.slots)
}

// hasEnough reports whether enough is left for a job. If a job asks for none of a resource, it fits
// even if other jobs have been promised more of that resource than there is.
func (r *hostRoom) hasEnough(h hostShare) bool {
	return (h.mem == 0 || h.mem <= r.mem) && r.hasCPUs(h.cpus)
}

func (r *hostRoom) hasCPUs(n int) bool { return n == 0 || n <= r.cpus }

// hostCapacity is what the host has left.
type hostCapacity struct {
	hostRoom
	noGPU     hostRoom // what is left of the host's part for jobs without GPUs
	noGPUJobs int      // number of running jobs without GPUs
}

// open sets l to what is free in the snapshot.
func (l *capacity) open(s *Snapshot) {
	l.gpus = l.gpus[:0]
	for i := range s.GPUs {
		g := &s.GPUs[i]
		r := gpuCapacity{
			ok: g.State == OK, milli: g.share(), jobs: len(g.Held), mem: g.freeMem(), since: s.Now,
		}
		for _, h := range g.Held {
			r.mates.Move(1, h.Mates)
		}
		l.gpus = append(l.gpus, r)
	}
	h := &s.Host
	l.hostRoom = roomOf(h.MemBytes, h.CPUs, h.MaxRunning)
	l.mem -= h.PromisedMem
	l.cpus -= h.PromisedCPUs
	l.slots -= h.Running
	l.noGPU, l.noGPUJobs = roomOf(h.NoGPUMem, h.NoGPUCPUs, h.NoGPUSlots), 0
	for i := range s.Running {
		l.moveNoGPU(-1, s.Running[i].hostShare())
	}
}

// MemLeft returns the host memory that is promised to no job. If noGPU is true, it returns what a
// running job without GPUs can have of that.
func (s *Snapshot) MemLeft(noGPU bool) int64 {
	var l capacity
	l.open(s)
	if noGPU && l.noGPUJobs > 1 { // the only such job may have more than the part for such jobs
		return min(l.mem, l.noGPU.mem)
	}
	return l.mem
}

func (l *capacity) copyFrom(o *capacity) {
	l.gpus = append(l.gpus[:0], o.gpus...)
	l.hostCapacity = o.hostCapacity
}

// clampTo lowers each value of r that exceeds the value of o. The GPU then admits only jobs that
// both admit.
func (r *gpuCapacity) clampTo(o *gpuCapacity) {
	r.ok = r.ok && o.ok
	r.mates.Join(o.mates)
	r.milli, r.mem = min(r.milli, o.milli), min(r.mem, o.mem)
}

// moveNoGPU adds a share to the host's part for jobs without GPUs, or subtracts it if sign is -1. It
// ignores jobs with GPUs.
func (l *capacity) moveNoGPU(sign int, h hostShare) {
	if h.slot == noGPUSlot {
		l.noGPUJobs -= sign
		l.noGPU.move(sign, h)
	}
}

// noGPUHasMem reports whether the host's part for jobs without GPUs has this much memory left.
// While no such job runs, one job may take more than the part. If it could not, it would wait for
// ever.
func (l *hostCapacity) noGPUHasMem(mem int64) bool { return mem <= l.noGPU.mem || l.noGPUJobs == 0 }

// take subtracts the GPUs and host resources that a job gets.
func (l *capacity) take(grants []Grant, h hostShare) {
	for _, g := range grants {
		r := &l.gpus[g.GPU]
		r.milli -= g.Milli
		r.mem -= g.Bytes
		r.jobs++
		r.mates.Move(1, g.Mates)
	}
	l.move(-1, h)
	l.moveNoGPU(-1, h)
}

// giveBack adds back what take subtracted for a job.
func (l *capacity) giveBack(grants []Grant, h hostShare, at Instant) {
	for _, g := range grants {
		r := &l.gpus[g.GPU]
		r.milli += g.Milli
		r.mem += g.Bytes
		r.jobs--
		r.mates.Move(-1, g.Mates)
		r.since = at
	}
	l.move(1, h)
	l.moveNoGPU(1, h)
}

// canTake reports whether the host has enough for the amount.
func (h *hostCapacity) canTake(n *amount) bool {
	if n.slot != noSlot && h.slots <= 0 || !h.hasEnough(n.hostShare) {
		return false
	}
	return n.milli > 0 || h.noGPU.slots > 0 && h.noGPUHasMem(n.mem) && h.noGPU.hasCPUs(n.cpus)
}

package gpus

import (
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/core/tracked"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/gpu"
)

// GPUProcesses returns the processes that a job has on its GPUs by the last good sample, sorted by
// pid, and the GPU memory that they use together. The result known is false if there may be others,
// if one of them is not known well enough to be parked, or if the job's GPUs serve MPS.
func (b *inventory) GPUProcesses(l *tracked.Job, now time.Time) (procs []job.ParkedProcess, bytes int64, known bool) {
	if b.last.problem != "" || b.policy.StaleAfter > 0 && now.Sub(b.lastGoodSample) > b.policy.StaleAfter {
		return nil, 0, false
	}
	for _, ref := range l.HeldGPUs() {
		at := b.Position(&ref)
		if at < 0 || !b.devices[at].showsProcesses() {
			return nil, 0, false
		}
		d := b.devices[at]
		for i := range d.Processes {
			p := &d.Processes[i]
			switch {
			case p.ServesMPS():
				return nil, 0, false
			case d.jobs[p.PID] != l.ID:
				continue
			case p.Dead || p.Start == 0 || p.UsedBytes < 0 || d.strays[p.PID] || strings.Contains(p.Kind, gpu.KindMPS):
				return nil, 0, false
			}
			bytes += p.UsedBytes
			if one := (job.ParkedProcess{PID: p.PID, Start: p.Start}); !slices.Contains(procs, one) {
				procs = append(procs, one)
			}
		}
	}
	slices.SortFunc(procs, func(a, b job.ParkedProcess) int { return a.PID - b.PID })
	return procs, bytes, true
}

// isMissed reports whether a process of a parked job was not parked with it: it began to use the GPU
// after the last look before.
func isMissed(l *tracked.Job, p *gpu.Process) bool {
	return !p.Dead && p.Start != 0 && !slices.Contains(l.ParkProcs, job.ParkedProcess{PID: p.PID, Start: p.Start})
}

// MayPark reports whether the scheduler may park a job by itself, as far as that is known without a
// sample.
func MayPark(p *site.Policy, l *tracked.Job) bool {
	r := &l.Request
	return p.Park.Allow && !r.NoPark && l.Unparkable.IsZero() && r.Mates.UID() < 0 && len(l.HeldGPUs()) > 0
}

// showsProcesses reports whether the last sample lists all processes on the GPU.
func (d *device) showsProcesses() bool {
	return d.present && d.Health == gpu.HealthOK && !d.MIG && !d.ProcessesUnknown
}

// Present returns a copy of some allocations, with the indexes that their GPUs have now: job.NoGPU for
// a GPU that is not known now.
func Present(b *Book, refs []job.Allocation) []job.Allocation {
	list := slices.Clone(refs)
	for i := range list {
		at := b.Position(&list[i])
		if list[i].Index = job.NoGPU; at >= 0 {
			list[i].Index = b.devices[at].Index
		}
	}
	return list
}

// movingDriver is the first version of the driver that can move the GPU memory of a process to other
// GPUs.
const movingDriver = 580

// Alike returns the GPUs, by index, to which a parked job may return. The result is nil if these are
// its own alone, or if nobody has those now: they are as good as any, and the driver has less to do.
func Alike(b *Book, j *job.Job) (list []int) {
	if !j.MayMove() || gpu.DriverMajor(b.last.driver) < movingDriver {
		return nil
	}
	own := b.Among(j.Attempt.GPUs)
	if !slices.Contains(own, true) {
		return nil
	}
	home := b.devices[slices.Index(own, true)]
	likeHome := func(d *device) bool { return d.Name == home.Name && d.MemTotalBytes == home.MemTotalBytes }
	awaited := false
	for at, d := range b.devices {
		r := &j.Request
		if likeHome(d) && d.present && d.Slice.IsZero() && !slices.Contains(r.ExcludeGPUs, d.Index) &&
			(len(r.GPUsFrom) == 0 || slices.Contains(r.GPUsFrom, d.Index)) {
			list = append(list, d.Index)
		}
		if !own[at] {
			continue
		}
		state, _ := b.state(d, b.lastGoodSample)
		if awaited = awaited || b.jobs.Held(d.UUID) || state != sched.OK && state != sched.Cleaning; !likeHome(d) {
			return nil
		}
	}
	if !awaited {
		return nil
	}
	return list
}

// HaveMemory reports whether the GPUs have memory of their own, and do not use the host's. The memory
// of a GPU that was lost from the beginning is unknown.
func HaveMemory(b *Book) bool {
	return !slices.ContainsFunc(b.devices, func(d *device) bool {
		return d.MemIsNode || d.MemTotalBytes == 0 && d.Health == gpu.HealthOK
	})
}

// AreFree reports whether a parked job can get its GPUs back at once: nobody holds them, and what is
// on them does not matter.
func AreFree(b *Book, l *tracked.Job, now time.Time) bool {
	return !slices.ContainsFunc(l.Attempt.GPUs, func(r job.Allocation) bool {
		at := b.Position(&r)
		if at < 0 || b.jobs.Held(r.UUID) {
			return true
		}
		state, _ := b.state(b.devices[at], now)
		return state != sched.OK && state != sched.Cleaning && state != sched.Suspect
	})
}

package core_test

import (
	"fmt"
	"slices"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// handOver checks invariant 8 for the GPUs that a job gets: jobs that left these GPUs have left
// nothing on them, and the GPUs need nothing after an error. An ending job counts as still on its
// GPUs.
func (w *world) handOver(j *job.Job) {
	for _, ref := range j.Attempt.GPUs {
		if f := w.controls[ref.UUID].Fault; (gpu.Recovery(f.Recovery).Sick() || !f.Left.What.IsZero()) && f.Boot == w.bootID() {
			w.fault("GPU %d is given to job %d and needs a %s, %s", ref.Index, j.ID, f.Recovery, f.Left.What)
		}
		for _, p := range w.at(ref.Index).Processes {
			if id, ok := unitJob(p.Unit); ok && w.units[id] == nil && !w.jobs[id].State.Live() {
				w.fault("GPU %d is given to job %d with %s of %s still on it", ref.Index, j.ID, job.FormatSize(p.UsedBytes), p.Unit)
			}
		}
	}
}

// at returns the GPU with this index, or an empty GPU if that one is gone.
func (w *world) at(index int) *gpu.Device {
	for i := range w.gpus {
		if w.gpus[i].Index == index {
			return &w.gpus[i]
		}
	}
	return &gpu.Device{}
}

// shareOf returns a job's share of a GPU, in thousandths.
func shareOf(j *job.Job, index int) int {
	for _, ref := range j.Attempt.GPUs {
		if ref.Index == index {
			return ref.Share()
		}
	}
	return 0
}

// orphanPID is the pid of a process whose memory stays in use after it ends.
const orphanPID = 76

// hold makes a process use the given amount of a GPU's memory. The amount -1 means that it is
// unknown. With a lower amount, hold removes the process.
func (w *world) hold(index, pid int, unit string, bytes int64) {
	w.drop(index, func(p gpu.Process) bool { return p.PID == pid })
	if bytes < -1 {
		return
	}
	g := w.at(index)
	if g.MemTotalBytes > 0 {
		bytes = min(bytes, int64(g.MemFreeBytes))
	}
	g.Processes = append(g.Processes, gpu.Process{PID: pid, UID: 1000 + pid%7, Unit: unit, UsedBytes: bytes})
	if g.MemTotalBytes > 0 {
		g.MemUsedBytes += uint64(max(0, bytes))
		g.MemFreeBytes -= uint64(max(0, bytes))
	}
}

// drop ends some processes on a GPU and frees their memory, except that of orphanPID.
func (w *world) drop(index int, gone func(gpu.Process) bool) {
	g := w.at(index)
	var stay []gpu.Process
	for _, p := range g.Processes {
		if !gone(p) {
			stay = append(stay, p)
			continue
		}
		if p.PID == orphanPID {
			continue
		}
		back := min(uint64(max(0, p.UsedBytes)), g.MemUsedBytes)
		g.MemUsedBytes -= back
		g.MemFreeBytes += back
	}
	g.Processes = stay
}

// tidy removes the processes of vanished units from the GPUs.
func (w *world) tidy() {
	for i := range w.gpus {
		w.drop(i, func(p gpu.Process) bool {
			id, ok := unitJob(p.Unit)
			return ok && w.units[id] == nil
		})
	}
}

func (w *world) sample(number uint64) core.Event {
	ev := core.Sampled{Number: number, Jobs: map[int]job.ID{}, Persons: w.persons, Driver: w.driver, HasCUDA: w.policy.Prove, Snap: gpu.Snapshot{Driver: "580", Problem: w.problem}}
	if w.problem == "" {
		ev.Snap.Devices = slices.Clone(w.gpus)
	}
	for _, g := range w.gpus {
		for _, p := range g.Processes {
			if id, ok := unitJob(p.Unit); ok {
				ev.Jobs[p.PID] = id
			}
		}
	}
	return ev
}

// renumber gives the GPUs new indexes, as the driver does.
func (w *world) renumber() {
	for i := range w.gpus {
		w.gpus[i].Index = i
	}
}

// xid makes the driver write a line about a GPU to the kernel's log.
func (w *world) xid(index int, rest string) core.Faulted {
	x, ok := gpu.ParseXid(fmt.Sprintf("NVRM: Xid (PCI:0000:%02x:00): %s", index+10, rest))
	if !ok {
		w.fault("%q is no Xid", rest)
	}
	ev := core.Faulted{Xid: x, Boot: w.bootID(), Seq: uint64(100 + len(w.kernel)), At: w.now}
	w.kernel = append(w.kernel, ev)
	return ev
}

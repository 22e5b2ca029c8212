package dst

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gpusched/gpusched/gpu"
)

// card is one GPU as it really is.
type card struct {
	gpu.Device
	processes []gpu.Process
	ghost     int64 // bytes of memory that belong to no process
	lost      bool
	missing   bool
}

// hasProcess reports whether a process is on the GPU.
func (g *card) hasProcess(pid int) bool {
	return slices.ContainsFunc(g.processes, func(p gpu.Process) bool { return p.PID == pid })
}

// removeProcess takes a process off the GPU.
func (g *card) removeProcess(pid int) {
	g.processes = slices.DeleteFunc(g.processes, func(p gpu.Process) bool { return p.PID == pid })
}

// onProcess changes what the GPUs show about a process.
func (w *World) onProcess(pid int, change func(*gpu.Process)) {
	for _, g := range w.gpus {
		for i := range g.processes {
			if g.processes[i].PID == pid {
				change(&g.processes[i])
			}
		}
	}
}

func (w *World) makeGPUs(n int) {
	for i := range n {
		total, reserved := uint64(80<<30), w.reserved<<20
		w.gpus = append(w.gpus, &card{Device: gpu.Device{
			Index: i, Minor: i, UUID: fmt.Sprintf("GPU-%d", i), PCI: fmt.Sprintf("00000000:%02X:00.0", i+10), Name: "NVIDIA A100-SXM4-80GB",
			NUMANode: -1, Health: gpu.HealthOK, MemTotalBytes: total, MemReservedBytes: reserved, UtilGPUPercent: -1,
		}})
	}
}

func (w *World) gpuOf(uuid string) *card {
	for _, g := range w.gpus {
		if g.UUID == uuid {
			return g
		}
	}
	return nil
}

// shuffle gives the GPUs other numbers and device nodes, as a reboot may.
func (w *World) shuffle(d *dice) {
	w.renumber(d)
	for i := range w.gpus {
		a, b := w.gpus[i], w.gpus[d.n(i+1)]
		a.Minor, b.Minor = b.Minor, a.Minor
	}
}

// renumber gives the GPUs other numbers while the daemon runs.
func (w *World) renumber(d *dice) {
	for i := range w.gpus {
		a, b := w.gpus[i], w.gpus[d.n(i+1)]
		a.Index, b.Index = b.Index, a.Index
	}
}

// source imitates the driver, and the child process that reads the GPUs.
type source struct{ w *World }

var errChild = errors.New("the child has ended")

// Sample implements daemon.Source.
func (s source) Sample(ctx context.Context) (gpu.Snapshot, error) {
	w, l := s.w, s.w.current.life
	w.mayDie(l)
	d := w.roll("sample", uint64(w.Elapsed))
	took := d.shortTime(5 * time.Millisecond)
	if w.isOn(sourceSlow) {
		took = d.between(0, 12*time.Second)
	}
	if w.isOn(sourceDies) && d.chance(70) || took > 10*time.Second {
		w.count("no sample")
		_ = w.sleep(ctx, min(took, 10*time.Second))
		return gpu.Snapshot{}, errChild
	}
	before := d.between(0, took)
	if w.isOn(linger) && d.chance(30) { // a busy driver answers late, with old data
		before, took = 0, d.between(0, 9*time.Second)
	}
	if err := w.sleep(ctx, before); err != nil {
		return gpu.Snapshot{}, err
	}
	snap := w.snapshot()
	if err := w.sleep(ctx, took-before); err != nil {
		return gpu.Snapshot{}, err
	}
	w.mayDie(l)
	return snap, nil
}

// Look implements daemon.Source. The driver of this world does not measure energy.
func (s source) Look(ctx context.Context) (gpu.Snapshot, error) { return s.Sample(ctx) }

// snapshot returns what the driver reports now.
func (w *World) snapshot() gpu.Snapshot {
	if w.isOn(sourceProblem) {
		return gpu.Snapshot{Problem: w.problem, Detail: "as the plan has it", Devices: []gpu.Device{}}
	}
	s := gpu.Snapshot{Driver: "580", CUDAVersion: "12.4", TakenUnixNano: w.wall().UnixNano()}
	for i := range w.gpus {
		for _, g := range w.gpus {
			if g.Index == i && !g.missing {
				s.Devices = append(s.Devices, w.report(g))
			}
		}
	}
	for i := range s.Devices {
		if w.counted { // this driver numbers only the GPUs that are present
			s.Devices[i].Index = i
		}
	}
	return s
}

// report returns what the driver reports about a GPU.
func (w *World) report(g *card) gpu.Device {
	d := g.Device
	if g.lost {
		d.Health, d.HealthDetail = gpu.HealthLost, "GPU is lost"
		d.MemTotalBytes, d.MemReservedBytes = 0, 0
		return d
	}
	d.Processes = append([]gpu.Process{}, g.processes...)
	d.UtilGPUPercent = w.utilization(g)
	used := g.ghost
	for i := range d.Processes {
		p := &d.Processes[i]
		used += max(0, p.UsedBytes)
		p.Age = w.Elapsed - fromTicks(p.Start)
		if w.unified || w.untold {
			p.UsedBytes = -1
		}
	}
	if w.unified {
		d.MemTotalBytes, d.MemReservedBytes = 0, 0
		return d
	}
	d.MemUsedBytes = min(uint64(used), d.MemTotalBytes-d.MemReservedBytes)
	d.MemFreeBytes = d.MemTotalBytes - d.MemReservedBytes - d.MemUsedBytes
	return d
}

// kernel is the kernel log of this boot. Every process of the daemon reads it from its beginning.
type kernel struct {
	w   *World
	log feed[gpu.XidReport]
}

// Run implements daemon.Kernel.
func (k *kernel) Run(ctx context.Context, tell func(gpu.XidReport)) { k.log.follow(ctx, k.w, tell) }

// write adds a line about a GPU to the log.
func (k *kernel) write(g *card, code, pid int) {
	var bus int
	fmt.Sscanf(g.PCI, "00000000:%X", &bus)
	x, ok := gpu.ParseXid(fmt.Sprintf("NVRM: Xid (PCI:0000:%02x:00): %d, pid=%d, name=python, words", bus, code, pid))
	if !ok {
		panic("dst: no Xid")
	}
	k.log.add(gpu.XidReport{Xid: x, Seq: uint64(100 + len(k.log.list)), At: k.w.wall()})
}

package dst

import (
	"time"
)

// demand is what a command does with its GPUs. It may use more memory than its job was promised,
// and it may pause its computing.
type demand struct {
	grows time.Duration // time from the command's beginning until its memory grows; negative: it does not grow
	to    int64         // bytes to which the memory grows
	rests time.Duration // time until the command first stops computing
	pause time.Duration // length of each pause
	work  time.Duration // time between pauses
}

func drawDemand(d *dice, lasts time.Duration) demand {
	m := demand{grows: -1, rests: lasts, pause: d.between(time.Second, 2*time.Minute),
		work: d.between(time.Second, time.Minute)}
	if d.chance(50) {
		m.grows, m.to = d.between(0, lasts), int64(10+d.n(70))*gib
	}
	if d.chance(50) {
		m.rests = d.between(0, lasts)
	}
	return m
}

// isBusy reports whether a run keeps its GPUs busy now.
func (w *World) isBusy(r *run) bool {
	ran, m := w.Elapsed-r.began, &r.demand
	return r.alive && (ran < m.rests || (ran-m.rests)%(m.pause+m.work) >= m.pause)
}

// grow makes a run take more memory on each of its GPUs, if memory is free.
func (w *World) grow(name string, r *run) {
	if w.runs[name] != r || !r.alive || r.parked.state != onGPU {
		return
	}
	for _, g := range w.gpus {
		free := w.freeMem(g)
		for i := range g.processes {
			if p := &g.processes[i]; p.PID == r.pid && r.demand.to > p.UsedBytes {
				p.UsedBytes += min(r.demand.to-p.UsedBytes, free)
			}
		}
	}
}

// utilization returns the load of a GPU. It returns -1 if this world's driver does not report
// loads.
func (w *World) utilization(g *card) int {
	if !w.tellsUse {
		return -1
	}
	for _, r := range w.runs {
		if g.hasProcess(r.pid) && w.isBusy(r) {
			return 80
		}
	}
	return 0
}

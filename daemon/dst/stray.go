package dst

import (
	"errors"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/gpu"
)

// stray is a process on GPUs that is in no job's unit.
type stray struct {
	gpu.Process
	began    time.Duration
	run      *run // whose command began it; nil: it is of nobody's job
	stubborn bool // SIGTERM does not end it
	told     bool // to the daemon, so that its job was plain
	noted    bool // and it was outside of its unit
}

// subordinates is what is added to the uid of a user for that of a process in a container of the user's,
// and strangers for that of an account of its own, which is in the range of the user's containers, too.
const (
	subordinates = 100_000
	strangers    = 2 * subordinates
)

// person returns whose a uid is.
func person(uid int) int {
	if uid >= strangers {
		return uid
	}
	return uid % subordinates
}

// answersAfter is how long the directory takes when a process of the daemon asks about a uid.
const answersAfter = 20 * time.Second

// person is daemon.Persons.
func (w *World) person(uid int) (whose int, certain bool) {
	if uid < subordinates {
		return uid, true
	}
	asked, ever := w.asked[uid]
	if !ever {
		asked, w.asked[uid] = w.Elapsed, w.Elapsed
	}
	if w.Elapsed < asked+answersAfter {
		return uid % subordinates, false
	}
	return person(uid), true
}

// ticks is the time since the boot in which the kernel writes down the start of a
// process.
func (w *World) ticks() uint64 { return uint64(w.Elapsed/tick) + 1 }

const tick = 10 * time.Millisecond

// ticked undoes ticks.
func ticked(start uint64) time.Duration { return time.Duration(start-1) * tick }

// firstStray is below the process ids of all strays.
const firstStray = 900_000

// put begins a process outside of all units.
func (w *World) put(s *stray, lasts time.Duration, on ...*card) {
	w.pids++
	s.PID, s.Start, s.began = firstStray+w.pids, w.ticks(), w.Elapsed
	w.strays[s.PID] = s
	for _, g := range on {
		p := s.Process
		p.UsedBytes = max(min(p.UsedBytes, 0), min(p.UsedBytes, w.free(g)))
		g.processes = append(g.processes, p)
	}
	pid := s.PID
	w.after(lasts, func() { w.endStray(pid) })
}

func (w *World) endStray(pid int) {
	delete(w.strays, pid)
	for _, g := range w.gpus {
		g.leave(pid)
	}
}

// free is what is really free of a GPU's memory.
func (w *World) free(g *card) int64 {
	free := int64(g.MemTotalBytes-g.MemReservedBytes) - g.ghost
	for _, p := range g.processes {
		free -= max(0, p.UsedBytes)
	}
	return max(0, free)
}

// leaves has a process of a job's be outside of its unit, from its beginning or
// after it was seen in it.
func (w *World) leaves(name string, r *run, lasts time.Duration, d *dice) {
	if !r.alive || len(r.gpus) == 0 {
		return
	}
	var on []*card
	for _, held := range r.gpus {
		if g := w.gpuOf(held.UUID); g != nil {
			on = append(on, g)
		}
	}
	s := &stray{Process: gpu.Process{Kind: gpu.KindCompute, UsedBytes: gib / 2, UID: r.uid, Comm: "python"}, run: r,
		stubborn: d.percent(30)}
	if d.percent(50) {
		s.Unit = name
	}
	if d.percent(30) {
		s.UID += subordinates
	}
	w.put(s, lasts, on...)
	w.after(d.between(0, 20*time.Second), func() { w.outside(s.PID) })
}

// outside takes a process out of its unit.
func (w *World) outside(pid int) {
	if s := w.strays[pid]; s != nil {
		s.Unit = ""
	}
	w.onProcess(pid, func(p *gpu.Process) { p.Unit = "" })
}

// trespass has a job's process use a GPU that the job does not have.
func (w *World) trespass(name string, r *run, lasts time.Duration, d *dice) {
	if len(w.gpus) == 0 || !r.alive {
		return
	}
	g := pick(d, w.gpus...)
	if r.has(g.UUID) {
		return
	}
	r.trespassed = true
	g.processes = append(g.processes, gpu.Process{PID: r.pid, Kind: gpu.KindCompute, UID: r.uid, Unit: name,
		Start: uint64(r.began/tick) + 1})
	pid := r.pid
	w.after(lasts, func() { g.leave(pid) })
}

var errNoProcess = errors.New("no such process")

// endProcess is daemon.EndProcess.
func (w *World) endProcess(a core.EndProcess) error {
	w.boundary(w.current.life)
	s := w.strays[a.PID]
	w.judgeEndProcess(a, s)
	if s == nil || s.Start != a.Start || s.UID != a.UID {
		return errNoProcess
	}
	w.count("stray told to end")
	if !s.stubborn || a.Signal == 9 {
		w.after(w.roll("stray", uint64(a.PID)).soon(10*time.Millisecond), func() { w.endStray(a.PID) })
	}
	return nil
}

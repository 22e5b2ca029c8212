package dst

import (
	"errors"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/gpu"
)

// stray is a process on GPUs that is not in the unit of any job.
type stray struct {
	gpu.Process
	began    time.Duration
	run      *run // run that started the process; nil: the process belongs to no job
	stubborn bool // SIGTERM does not end the process
	told     bool // the daemon was told about the process while its job was known
	noted    bool // the daemon was also told that the process is outside its unit

	warned time.Duration // when its user was told that it uses a GPU of another user's job; 0: never
}

// The uid of a process in a user's container is the user's uid plus the constant subordinates. A
// uid of at least the constant strangers does not belong to a container, but to an account.
const (
	subordinates = 100_000
	strangers    = 2 * subordinates
)

// person returns the user to whom a uid belongs.
func person(uid int) int {
	if uid >= strangers {
		return uid
	}
	return uid % subordinates
}

// answersAfter is how long the directory takes to answer about a uid.
const answersAfter = 20 * time.Second

// person is daemon.Options.Person.
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

// ticks returns the time since boot in the unit in which the kernel records the start of a process.
func (w *World) ticks() uint64 { return uint64(w.Elapsed/tick) + 1 }

const tick = 10 * time.Millisecond

// fromTicks is the inverse of ticks.
func fromTicks(start uint64) time.Duration { return time.Duration(start-1) * tick }

// firstStray is a number below the pids of all strays.
const firstStray = 900_000

// put starts a process outside all units.
func (w *World) put(s *stray, lasts time.Duration, on ...*card) {
	w.pids++
	s.PID, s.Start, s.began = firstStray+w.pids, w.ticks(), w.Elapsed
	w.strays[s.PID] = s
	for _, g := range on {
		p := s.Process
		p.UsedBytes = max(min(p.UsedBytes, 0), min(p.UsedBytes, w.freeMem(g)))
		g.processes = append(g.processes, p)
	}
	pid := s.PID
	w.after(lasts, func() { w.endStray(pid) })
}

func (w *World) endStray(pid int) {
	delete(w.strays, pid)
	for _, g := range w.gpus {
		g.removeProcess(pid)
	}
}

// freeMem returns the memory of a GPU that is really free.
func (w *World) freeMem(g *card) int64 {
	free := int64(g.MemTotalBytes-g.MemReservedBytes) - g.ghost
	for _, p := range g.processes {
		free -= max(0, p.UsedBytes)
	}
	return max(0, free)
}

// leaveUnit makes a process of a job leave the job's unit: at its start, or after a sample showed
// it in the unit.
func (w *World) leaveUnit(name string, r *run, lasts time.Duration, d *dice) {
	if !r.alive || len(r.gpus) == 0 || r.parked.state != onGPU {
		return
	}
	var on []*card
	for _, held := range r.gpus {
		if g := w.gpuOf(held.UUID); g != nil {
			on = append(on, g)
		}
	}
	s := &stray{Process: gpu.Process{Kind: gpu.KindCompute, UsedBytes: gib / 2, UID: r.uid, Comm: "python"}, run: r,
		stubborn: d.chance(30)}
	if d.chance(50) {
		s.Unit = name
	}
	if d.chance(30) {
		s.UID += subordinates
	}
	w.put(s, lasts, on...)
	w.after(d.between(0, 20*time.Second), func() { w.takeOut(s.PID) })
}

// takeOut takes a process out of the unit in which it is.
func (w *World) takeOut(pid int) {
	if s := w.strays[pid]; s != nil {
		s.Unit = ""
	}
	w.onProcess(pid, func(p *gpu.Process) { p.Unit = "" })
}

// trespass makes a process of a job use a GPU that the job does not have.
func (w *World) trespass(name string, r *run, lasts time.Duration, d *dice) {
	if len(w.gpus) == 0 || !r.alive || r.parked.state != onGPU {
		return
	}
	g := pick(d, w.gpus...)
	if r.hasGPU(g.UUID) {
		return
	}
	r.trespassed = true
	g.processes = append(g.processes, gpu.Process{PID: r.pid, Kind: gpu.KindCompute, UID: r.uid, Unit: name,
		Start: uint64(r.began/tick) + 1})
	pid := r.pid
	w.after(lasts, func() { g.removeProcess(pid) })
}

var errNoProcess = errors.New("no such process")

// endProcess is daemon.Options.EndProcess.
func (w *World) endProcess(a core.EndProcess) error {
	w.mayDie(w.current.life)
	s := w.strays[a.PID]
	w.judgeEndProcess(a, s)
	if s == nil || s.Start != a.Start || s.UID != a.UID {
		return errNoProcess
	}
	w.count("stray told to end")
	if !s.stubborn || a.Signal == 9 {
		w.after(w.roll("stray", uint64(a.PID)).shortTime(10*time.Millisecond), func() { w.endStray(a.PID) })
	}
	return nil
}

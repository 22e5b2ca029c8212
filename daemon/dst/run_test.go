package dst

import (
	"context"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/unittest"
)

// A run records what really happens to an attempt: its unit and its command.
type run struct {
	job     job.ID
	attempt int
	uid     int
	gpus    []contract.GPU
	mem     int64
	cpus    int
	grace   time.Duration
	task    job.Task // the task, if the run is of an array task

	behaviour unittest.Behaviour
	demand    demand
	lasts     time.Duration
	deaf      bool          // the command ends only after its whole grace period
	answers   int           // the command's exit status if it is stopped; 0: the stop kills it, or it exits with 0
	waits     []func() bool // one function per caller that stopped the run; it reports whether that caller still waits
	refused   bool          // systemd refuses the run's unit
	dead      bool          // the process that asked for its unit died before the unit came
	oom       bool

	saves  bool // the command exits some time after it is warned
	warned bool // the command exited because of a warning, not because of another signal

	began, ended time.Duration // 0: not yet
	over         time.Duration // when the last process ended; 0: not yet
	first        time.Duration // when the attempt first began, if its unit was restarted since; otherwise 0
	invocation   string
	alive        bool
	gone         bool // the unit has gone
	stopping     bool
	by           string // who ended the command; "": it ended by itself
	code, signal int
	pid          int    // pid of the run's process on the GPUs; 0: it has left them
	number       int    // the same pid, kept after the process has left
	touched      string // what was done to the run that may explain a different end
	stale        bool   // the run's spec was removed before the run began, so no command begins
	kept         bool   // the machine could not start any job at that time
	stuck        bool   // the run's processes outlive SIGKILL
	trespassed   bool   // the run used a GPU that it was not given
	parked       parked
}

func (r *run) String() string { return fmt.Sprintf("job %d attempt %d", r.job, r.attempt) }

// hasGPU reports whether the run was given a GPU.
func (r *run) hasGPU(uuid string) bool {
	return slices.ContainsFunc(r.gpus, func(h contract.GPU) bool { return h.UUID == uuid })
}

// newRun returns the run of a unit with these properties, or nil if the unit exists already.
func (w *World) newRun(name string, props []units.Property) *run {
	if w.bus.sys.Properties(name) != nil {
		return nil
	}
	o := units.OriginOf(props)
	s, err := o.Spec(name)
	if err != nil {
		w.breach(8, "a unit is made that cannot be recovered: %v", err)
		return nil
	}
	r := &run{job: job.ID(s.ID), attempt: s.Attempt, uid: s.UID, gpus: s.GPUs, mem: s.Limits.MemBytes, cpus: s.Limits.CPUs,
		grace: s.Grace, task: job.Task{Array: job.ID(s.Array), Index: s.Task}, dead: w.bus.dead}
	d := w.roll("command", uint64(r.job), uint64(r.attempt))
	w.drawBehaviour(r, d)
	if w.isOn(startsFail) && d.chance(95) {
		w.count("start that fails as all do")
		r.kept, r.behaviour = true, unittest.Behaviour{NotStart: pick(d, 217, 226)}
		if d.chance(50) {
			step := pick(d, contract.StepFilter, contract.StepAway)
			r.behaviour = unittest.Behaviour{Launch: step, Code: step.ExitStatus()}
		}
	}
	if !w.specs.got[specKey{r.job, r.attempt}] { // nobody waits for this start any more
		r.behaviour = unittest.Behaviour{Launch: contract.StepSpec, Code: 225}
		r.stale = true
	}
	w.pids++
	r.pid, r.number = 1000+w.pids, 1000+w.pids
	w.runs[name] = r
	return r
}

// drawBehaviour draws what a command does.
func (w *World) drawBehaviour(r *run, d *dice) {
	r.lasts = pick(d, 0, d.between(0, 10*time.Millisecond), d.between(0, 2*time.Second), d.between(0, time.Minute),
		d.between(0, 10*time.Minute))
	r.deaf = d.chance(10)
	answer := w.roll("answer", uint64(r.job), uint64(r.attempt))
	r.answers, r.saves = pick(answer, 0, 0, 1, 75), answer.chance(60)
	if longer := w.roll("longer", uint64(r.job), uint64(r.attempt)); w.isParking() && longer.chance(60) {
		r.lasts = longer.between(time.Minute, 10*time.Minute)
	}
	r.demand = drawDemand(w.roll("demand", uint64(r.job), uint64(r.attempt)), r.lasts)
	b := &r.behaviour
	switch d.n(20) {
	case 0:
		r.code = 1 + d.n(250)
	case 1:
		r.code = d.n(4) * 75 // 225 is also an exit status that the launcher uses
	case 2:
		r.signal = pick(d, 9, 11, 15, 6)
	case 3:
		r.oom = r.mem > 0
	case 4:
		b.Launch, b.Code, b.Errno = contract.StepExec, 203, 2
	case 5:
		b.NotStart = 217
	case 6:
		r.refused = d.chance(50)
	case 7:
		b.Orphan = true
	case 8:
		b.Stopping = d.chance(30) // once the unit is gone nobody knows how the command ended
	}
	b.Deaf = r.deaf
}

// behave tells systemd what a unit's command will do.
func (w *World) behave(name string, _ []units.Property) unittest.Behaviour {
	if r := w.runs[name]; r != nil {
		return r.behaviour
	}
	return unittest.Behaviour{}
}

// onBegin is called when systemd executes a unit's command, or fails to execute it.
func (w *World) onBegin(name string, r *run) {
	st, err := w.bus.sys.Status(context.Background(), name)
	if r.began != 0 || err != nil || st.Load != units.LoadLoaded || r.gone {
		return
	}
	r.began, r.invocation = w.Elapsed, st.InvocationID
	if r.behaviour.Stopping && r.touched == "" {
		r.touched = "says that it stops"
	}
	if !r.stale {
		w.judgeBegin(r)
	}
	if !w.bus.sys.Running(name) {
		r.ended = w.Elapsed
		return
	}
	r.alive = true
	w.tell("%v begins on %d GPUs, for %v", r, len(r.gpus), r.lasts)
	w.occupy(name, r)
	if r.demand.grows >= 0 {
		w.after(r.demand.grows, func() { w.grow(name, r) })
	}
	w.after(r.lasts, func() { w.finish(name, r) })
}

// finish simulates that a command ends by itself.
func (w *World) finish(name string, r *run) {
	if !r.alive || r.stopping || w.runs[name] != r {
		return
	}
	if left := w.roll("left", uint64(r.pid), uint64(w.Elapsed)); r.parked.state != onGPU && left.chance(80) {
		w.after(left.between(time.Second, 20*time.Second), func() { w.finish(name, r) }) // it waits for its GPUs
		return
	}
	r.alive, r.ended = false, w.Elapsed
	w.tell("%v ends: code %d, signal %d, oom %t", r, r.code, r.signal, r.oom)
	switch {
	case r.oom:
		r.touched = "memory"
		w.bus.sys.OOM(name)
	case r.signal != 0:
		w.bus.sys.KillBy(name, r.signal)
	default:
		w.bus.sys.Exit(name, r.code)
	}
	w.onEmpty(name, r)
	w.bus.forwardHints()
}

// onEmpty is called when the last process of a unit may have ended.
func (w *World) onEmpty(name string, r *run) {
	if w.bus.sys.Processes(name) == 0 {
		w.clear(name, r)
	}
	if w.bus.sys.Properties(name) == nil {
		w.noteVanished(name, "itself")
	}
}

// notice is called after something was done to a unit. It asks systemd about the unit. If the
// command has ended, notice notes the end.
func (w *World) notice(name, by string) {
	r := w.runs[name]
	if r == nil {
		return
	}
	if !w.bus.sys.Running(name) {
		w.noteEnd(r, by)
	}
	w.onEmpty(name, r)
}

// noteEnd notes the cause of the end of a command that was alive.
func (w *World) noteEnd(r *run, by string) {
	if r.alive {
		r.alive, r.ended, r.by = false, w.Elapsed, by
		w.tell("%v is ended by %s", r, by)
	}
}

// vanish removes a unit from systemd.
func (w *World) vanish(name, by string) {
	w.bus.sys.Vanish(name)
	w.noteVanished(name, by)
}

// noteVanished notes that a unit no longer exists.
func (w *World) noteVanished(name, by string) {
	r := w.runs[name]
	if r == nil || r.gone {
		return
	}
	w.noteEnd(r, by)
	r.gone = true
	w.clear(name, r)
	delete(w.runs, name)
}

// occupy puts a run's process on its GPUs.
func (w *World) occupy(name string, r *run) {
	for _, held := range r.gpus {
		g := w.gpuOf(held.UUID)
		if g == nil {
			continue
		}
		used := int64(1) << 30
		if held.PromiseBytes > 0 {
			used = held.PromiseBytes / 2
		}
		g.processes = append(g.processes, gpu.Process{PID: r.pid, Kind: gpu.KindCompute, UsedBytes: used, UID: r.uid,
			Unit: name, Start: w.ticks()})
	}
}

// clear takes a run's process off its GPUs: at once, or later if the driver is slow.
func (w *World) clear(name string, r *run) {
	if r.pid == 0 || r.began == 0 {
		return
	}
	for pid, s := range w.strays {
		if s.run == r && s.Unit != "" {
			w.endStray(pid)
		}
	}
	pid := r.pid
	r.pid, r.over, r.parked.saved = 0, w.Elapsed, nil
	off := func() {
		for _, g := range w.gpus {
			g.removeProcess(pid)
		}
	}
	if !w.isOn(linger) {
		off()
		return
	}
	w.count("lingering memory")
	d := w.roll("linger", uint64(pid))
	if d.chance(50) {
		w.onProcess(pid, func(p *gpu.Process) { p.Dead, p.Unit = true, "" })
	}
	w.after(d.between(0, 2*time.Minute), off)
}

// unitOf returns the unit of a process, according to its control group.
func (w *World) unitOf(pid int) string {
	for name, r := range w.runs {
		if r.pid == pid && r.alive {
			return name
		}
	}
	return ""
}

// strike ends a unit's command from outside.
func (w *World) strike(name string, r *run, how string, signal syscall.Signal) {
	r.touched = how
	if !r.alive || r.stopping {
		return
	}
	if r.signal, r.code, r.oom = int(signal), 0, how == "oom"; r.oom {
		w.bus.sys.OOM(name)
	} else {
		w.bus.sys.KillBy(name, r.signal)
	}
	w.notice(name, how)
	w.bus.forwardHints()
}

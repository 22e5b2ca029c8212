package dst

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/daemon"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units/contract"
)

func (w *World) act(e *Entry) {
	w.tell("== %v", *e)
	if !w.request(e) {
		w.count(string(e.Kind))
		w.fault(e)
	}
}

// request makes an entry's request. It returns false if the entry is a fault.
func (w *World) request(e *Entry) bool {
	switch e.Kind {
	case submit:
		c := w.newSubmission(e)
		w.subs[e.Num] = c
		w.try(c)
	case cancel:
		w.sendCommand(e, func(c *job.Command, d *dice) {
			if s := w.subs[e.Job]; s.s.Request.Array != nil && d.chance(50) {
				c.Task = new(d.n(6))
			}
			if d.chance(30) {
				c.Grace = new(pick(d, 0, job.Span(time.Second)))
			}
		})
	case park, unpark:
		w.orderPark(e)
	case hold, release, requeue, suspend, goOn:
		w.sendCommand(e, func(*job.Command, *dice) {})
	case signal:
		w.sendCommand(e, func(c *job.Command, d *dice) {
			c.Signal = int(pick(d, syscall.SIGUSR1, syscall.SIGTERM, syscall.SIGCONT))
		})
	case update:
		w.sendCommand(e, w.change)
	case query:
		w.ask(e.For, func(ctx context.Context, d *daemon.Daemon) func() {
			v, _ := d.Query(ctx, job.Query{Ended: 5, Reasons: true}) // empty on an error
			return func() { w.judgeTold(v.Jobs...) }
		}, func() {})
	case await:
		w.wait(e)
	case pause, drain, resume, drainAll, undrainAll:
		w.control(e)
	case reserve, unreserve:
		w.reservation(e)
	case reload:
		w.reload(e)
	default:
		return false
	}
	return true
}

func (w *World) change(c *job.Command, d *dice) {
	c.Change = &job.Change{}
	if m := w.roll("memory", uint64(c.Job), uint64(w.Elapsed)); m.chance(15) {
		c.Change.MemBytes, c.MemUsed = new(int64(1+m.n(12))*gib), int64(m.n(4))*gib
		return
	}
	for range 1 + d.n(2) {
		switch d.n(10) {
		case 0:
			c.Change.GPUMilli = new(pick(d, 0, 250, 500, 1000, 2000))
		case 1:
			c.Change.Priority = &job.Priority{Number: 1 - d.n(4)}
		case 2:
			c.Change.TimeLimit = new(job.Span(pick(d, 0, d.between(time.Second, time.Minute))))
		case 3:
			c.Change.Retries = new(d.n(3))
		case 4:
			c.Change.ArrayLimit = new(d.n(3))
			if d.chance(30) {
				c.Change.MaxFailures = new(d.n(3))
			}
		case 5, 6:
			c.Change.After = w.drawDependencies(d)
		case 7:
			c.Change.GPUMemBytes = new(int64(d.n(3)) * 20 * gib)
		case 8:
			c.Change.Begin = new(genesis.Add(w.Elapsed).Add(d.between(-time.Minute, time.Minute)))
		case 9:
			c.Change.Lane = new(pick(d, "", job.Lane("one"), "site=2"))
		}
	}
}

// drawDependencies draws new dependencies of a job, even on itself, its tasks, or a job that fails.
func (w *World) drawDependencies(d *dice) *[]job.Dependency {
	list := []job.Dependency{}
	for range d.n(3) {
		on := job.ID(1 + d.n(int(w.disk.nextJob)))
		list = append(list, job.Dependency{Kind: pick(d, job.AfterStart, job.AfterOK, job.AfterFail, job.AfterAny), Job: on})
	}
	return &list
}

func (w *World) wait(e *Entry) {
	c := w.subs[e.Job]
	if c == nil || c.id == 0 {
		return
	}
	w.ask(e.For, func(ctx context.Context, d *daemon.Daemon) func() {
		v, err := d.Wait(ctx, c.id)
		return func() {
			if err == nil && !v.AtRest() {
				w.breach(5, "a client waited for job %d to its end and was told that it is %s", c.id, v.State)
			}
			if err == nil {
				w.judgeTold(v)
			}
		}
	}, func() {})
}

var root = job.Actor{UID: 0, User: "root", Admin: true}

func (w *World) control(e *Entry) {
	d := w.roll("control", e.Pick)
	what := job.Command{Kind: job.CommandKind(e.Kind), GPU: d.n(max(len(w.gpus), 1)), Reason: "the plan"}
	if d.chance(50) {
		what.Until = w.wall().Add(d.between(0, 3*time.Minute))
	}
	w.order(e, root, what)
}

func (w *World) reservation(e *Entry) {
	d := w.roll("reservation", e.Pick)
	what := job.Command{Kind: job.CommandUnreserve, Reservation: &job.Reservation{ID: int64(1 + d.n(3))}}
	if e.Kind == reserve {
		from := w.wall().Add(d.between(0, 2*time.Minute))
		who := pick(d, users...)
		what = job.Command{Kind: job.CommandReserve, Reservation: &job.Reservation{
			GPUs: []job.Allocation{{GPU: contract.GPU{Index: d.n(max(len(w.gpus), 1))}}}, From: from,
			To:    from.Add(d.between(time.Second, 5*time.Minute)),
			Users: []job.Account{{UID: who.UID, User: who.User}},
		}}
	}
	w.order(e, root, what)
}

func (w *World) reload(e *Entry) {
	if w.daemon == nil || w.life.over {
		return
	}
	d, s, l := w.roll("reload", e.Pick), w.settings(), w.life
	s.Policy.MaxRunning, s.Policy.Lanes = d.n(6), map[string]int{"site": 1 + d.n(3)}
	s.Policy.StaleAfter = pick(d, 16*time.Second, 20*time.Second, time.Minute)
	s.Policy.CleaningTimeout = pick(d, time.Second, 30*time.Second)
	if len(w.gpus) > 1 && d.chance(50) {
		s.Policy.OnlyGPUs = []int{d.n(len(w.gpus))}
	}
	if d.chance(50) {
		s.Policy.Usage, s.Policy.Quotas = drawWatch(d), drawQuotas(d)
	}
	daemon := w.daemon
	w.spawn(l, func() { daemon.Reload(s) })
}

func (w *World) fault(e *Entry) {
	d := w.roll("fault", e.Pick)
	if e.For > 0 {
		w.until[e.Kind] = max(w.until[e.Kind], w.Elapsed+e.For)
	}
	switch e.Kind {
	case crash:
		if w.life != nil && w.doom == 0 {
			w.doom = 1 + d.n(pick(d, 3, 10, 60))
		}
	case stop:
		if w.stopDaemon != nil {
			w.stopDaemon()
			w.stopping = true
			w.wakeCancelled()
		}
	case reboot:
		w.reboot(d)
	case stateLost:
		w.loseState(newDisk(w))
	case stateOld:
		copied := w.disk.clone()
		w.after(e.For, func() {
			if !w.healed {
				w.count("older state file put back")
				w.loseState(copied)
			}
		})
	case clock:
		w.skew += time.Duration(pick(d, -1, 1)) * pick(d, d.between(0, 2*time.Second), d.between(0, time.Hour),
			d.between(0, 48*time.Hour))
		w.tell("the wall clock is wrong by %v", w.skew)
	case busGone:
		w.bus.cut()
		w.after(e.For+time.Millisecond, func() {
			if !w.isOn(busGone) {
				w.bus.sendResync()
			}
		})
	case pid1Hangs:
		w.bus.busy = max(w.bus.busy, w.Elapsed+e.For)
	case daemonReload:
		for _, name := range w.bus.sys.Names() {
			w.bus.sys.Signal(name)
		}
		w.bus.forwardHints()
		w.bus.sendResync()
	case sourceProblem:
		w.problem = pick(d, gpu.ProblemStale, gpu.ProblemInitFailed, gpu.ProblemLibraryMissing)
	case shutdown:
		w.shutdown(d)
	case unkillable, vanish, restarted, kill, oom, leaves, trespass:
		w.onUnit(e, d)
	case gpuLost, gpuMissing, xid, ghost, foreign:
		w.onGPU(e, d)
	case renumber:
		w.renumber(d)
	}
}

// onUnit applies a fault to a random unit.
func (w *World) onUnit(e *Entry, d *dice) {
	names := slices.Sorted(maps.Keys(w.runs))
	if len(names) == 0 {
		return
	}
	name := pick(d, names...)
	r := w.runs[name]
	if r.began == 0 {
		return
	}
	w.tell("it strikes %v", r)
	switch e.Kind {
	case unkillable:
		if w.bus.sys.Processes(name) == 0 {
			return
		}
		w.bus.sys.KeepProcesses(name, true)
		r.touched, r.stuck = "unkillable", true
		w.after(e.For, func() {
			w.unstick(name, r)
		})
	case vanish:
		if !r.stopping {
			r.touched = "vanish"
			w.vanish(name, "an administrator")
			w.bus.forwardHints()
		}
	case restarted:
		// The launcher of a job that has moved would find its first GPUs closed, and end.
		if r.alive && !r.stopping && !r.stuck && r.parked.state == onGPU && !r.parked.moved {
			props := w.bus.sys.Properties(name)
			r.touched = "vanish"
			w.vanish(name, "an administrator")
			again := w.newRun(name, props)
			again.touched, again.behaviour.NotStart = "restart", 0
			again.first = cmp.Or(r.first, r.began)
			again.trespassed = r.trespassed // what the earlier run of the attempt did
			again.refused, again.stale = false, false
			_, _ = w.bus.sys.Start(context.Background(), name, props)
			w.onBegin(name, again)
			w.bus.forwardHints()
		}
	case kill:
		w.strike(name, r, "kill", pick(d, syscall.SIGKILL, syscall.SIGTERM))
	case oom:
		w.strike(name, r, "oom", syscall.SIGKILL)
	case leaves:
		w.leaveUnit(name, r, e.For, d)
	case trespass:
		w.trespass(name, r, e.For, d)
	}
}

// unstick ends processes that were unkillable.
func (w *World) unstick(name string, r *run) {
	if w.runs[name] == r && r.stuck {
		r.stuck = false
		w.bus.sys.KeepProcesses(name, false)
		w.notice(name, "its own end")
	}
}

func (w *World) onGPU(e *Entry, d *dice) {
	if len(w.gpus) == 0 {
		return
	}
	g := pick(d, w.gpus...)
	switch e.Kind {
	case gpuLost:
		g.lost = true
		w.after(e.For, func() { g.lost = w.isOn(gpuLost) && g.lost })
	case gpuMissing:
		g.missing = true
		w.after(e.For, func() { g.missing = w.isOn(gpuMissing) && g.missing })
	case ghost:
		g.ghost = int64(d.n(60)) * gib
		w.after(e.For, func() { g.ghost = 0 })
	case foreign:
		kind, bytes := pick(d, gpu.KindCompute, gpu.KindCompute, gpu.KindGraphics), pick(d, -1, int64(d.n(60))<<20,
			int64(d.n(40))*gib)
		uid := pick(d, idleUID, idleUID, 1001, 1002, strangers+1001, strangers+1002)
		w.put(&stray{Process: gpu.Process{Kind: kind, UsedBytes: bytes, UID: uid, Comm: "python"}}, e.For, g)
	case xid:
		pid := 0
		if len(g.processes) > 0 && d.chance(70) {
			pid = pick(d, g.processes...).PID
		}
		w.kernel.write(g, pick(d, 13, 31, 43, 45, 48, 63, 79, 94, 109), pid)
		for _, r := range w.runs {
			if r.hasGPU(g.UUID) {
				r.touched = "xid"
			}
		}
	}
}

// loseState removes the state file, as the daemon does with a damaged file, or puts back an older
// copy. The daemon then forgets the jobs, and the ends of jobs, that the copy does not have. It
// must recover jobs from their units. The highest ids are not lost, since they are in another file.
func (w *World) loseState(left *disk) {
	left.nextJob, left.nextRes = w.disk.nextJob+1000, max(1, left.nextRes)
	w.disk = left
	for _, s := range w.strays {
		s.warned = 0
	}
	w.tracked.forget()
	w.follower = follower{}
	for _, c := range w.subs {
		c.id = 0
	}
	for _, name := range slices.Sorted(maps.Keys(w.runs)) {
		r := w.runs[name]
		if r.began == 0 || r.stopping || r.by == "stop" { // about to begin, about to end, or stopped
			r.touched = "state lost"
		}
	}
	for _, r := range w.tracked.truth {
		if r.gone { // in an older copy of the file, the attempt may not have begun yet
			r.touched = "state lost"
		}
	}
	if l := w.life; l != nil {
		l.over = true
		w.bury(l)
	}
}

// reboot ends everything except what is on disk.
func (w *World) reboot(d *dice) {
	w.tell("the machine restarts")
	w.boot++
	w.skew = d.between(0, time.Second)
	w.kernel.log.list = nil
	for _, g := range w.gpus {
		g.ghost, g.lost, g.missing = 0, false, false
	}
	if d.chance(30) {
		w.shuffle(d)
	}
	w.userspace()
}

// userspace does what a reboot and a soft reboot have in common.
func (w *World) userspace() {
	w.tracked.books.goOff(w.Elapsed)
	for _, name := range slices.Sorted(maps.Keys(w.runs)) {
		w.runs[name].touched = "reboot"
		w.noteVanished(name, "the reboot")
	}
	w.reboots++
	w.post.loseTries()
	w.leaving = false
	for _, r := range w.tracked.truth {
		if r.touched == "swept" {
			r.touched = "reboot"
		}
	}
	w.bus.sys.Reboot()
	w.bus.broken++
	for _, g := range w.gpus {
		g.processes = nil
	}
	clear(w.strays)
	clear(w.helpers)
	clear(w.until)
	w.bus.busy = 0
	if l := w.life; l != nil {
		l.over = true
		w.bury(l)
		return
	}
	w.after(time.Second, w.start)
}

func (w *World) heal() {
	w.tell("== the faults end")
	w.healed = true
	clear(w.until)
	w.skew, w.bus.busy, w.doom = 0, 0, 0
	for _, g := range w.gpus {
		g.lost, g.missing, g.ghost = false, false, 0
		g.processes = slices.DeleteFunc(g.processes, func(p gpu.Process) bool {
			return w.strays[p.PID] != nil && w.strays[p.PID].run == nil
		})
	}
	maps.DeleteFunc(w.strays, func(_ int, s *stray) bool { return s.run == nil })
	for _, name := range slices.Sorted(maps.Keys(w.runs)) {
		w.unstick(name, w.runs[name])
	}
	w.bus.deliver()
	w.bus.sendResync()
	w.after(10*time.Second, w.tidy)
}

// tidy acts as an administrator who resumes GPUs and releases jobs, again and again until the end.
func (w *World) tidy() {
	if w.daemon != nil && !w.life.over {
		d, l := w.daemon, w.life
		w.spawn(l, func() { d.Reload(w.settings()) })
	}
	e := &Entry{For: time.Minute, Job: -1}
	if w.disk.controls[job.EveryGPU].Paused {
		w.order(e, root, job.Command{Kind: job.CommandUndrain})
	}
	for _, uuid := range slices.Sorted(maps.Keys(w.disk.controls)) {
		c := w.disk.controls[uuid]
		if g := w.gpuOf(uuid); g != nil && (c.Paused || c.Fault.Recovery != "") {
			w.order(e, root, job.Command{Kind: job.CommandResumeGPU, GPU: g.Index})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.disk.jobs)) {
		j := w.disk.jobs[id]
		switch {
		case j.Park == job.IsParked && !j.ParkWants:
			w.order(e, root, job.Command{Kind: job.CommandUnpark, Job: id})
		case j.Park != job.NotParked: // it gets its GPUs back by itself
		case j.IsSuspended():
			w.order(e, root, job.Command{Kind: job.CommandResume, Job: id})
		case j.State != job.Queued:
		// the job was submitted while the GPUs were unknown
		case j.Request.Devices() > len(w.gpus), w.unified && j.Request.GPUMemBytes > 0:
			w.order(e, root, job.Command{Kind: job.CommandCancel, Job: id})
		case j.Held != "", j.TooManyFailed():
			w.order(e, root, job.Command{Kind: job.CommandRelease, Job: id})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.disk.reserved)) {
		w.order(e, root, job.Command{Kind: job.CommandUnreserve, Reservation: &job.Reservation{ID: id}})
	}
	if w.tidied++; w.tidied > 4 { // the units have been listed since the last change
		w.judgeMoved()
	}
	w.after(time.Minute, w.tidy)
}

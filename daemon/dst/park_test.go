package dst

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/unittest"
)

// driverState is the driver's state of the processes that a run has on GPUs.
type driverState int

const (
	onGPU        driverState = iota
	locked                   // the processes wait in all calls of CUDA
	checkpointed             // their GPU memory is in the host's memory
	broken                   // their GPU memory is lost
)

// parked is what the driver has of a run that was parked.
type parked struct {
	state  driverState
	saved  []savedProcess
	closed bool // the unit can't open its GPUs
	moved  bool // the run has other GPUs than its unit was made with
}

// savedProcess is a process that the driver took off a GPU.
type savedProcess struct {
	on *card
	gpu.Process
}

// copies returns the host memory that the copies of the GPU memory take.
func (p *parked) copies() (bytes int64) {
	for _, s := range p.saved {
		bytes += s.UsedBytes
	}
	return bytes
}

// helper is one run of the driver's program for a job. It has a unit of its own, which outlives the
// daemon.
type helper struct {
	until time.Duration // when the unit ends
	end   core.ParkEnd
	says  string
	took  time.Duration
}

// parkJob is daemon.Options.Park.
func (w *World) parkJob(ctx context.Context, a core.Park, back, frozen bool) (core.ParkEnd, string, time.Duration) {
	const lost = "the call is lost"
	var err error
	if back && w.bus.change(ctx, &a, true, false) != nil || !back && frozen && w.bus.Freeze(ctx, a.Job.Unit(), false) != nil {
		return core.ParkUnsure, lost, 0
	}
	end, says, took := w.copyMemory(ctx, a, back)
	if !back && end == core.ParkDone || back && end == core.ParkRefused {
		err = w.bus.change(ctx, &a, false, a.Freeze)
	} else if end == core.ParkRefused {
		err = w.bus.change(ctx, &a, true, false)
	}
	if err != nil {
		return core.ParkUnsure, lost, 0
	}
	return end, says, took
}

// change opens a job's GPUs to its unit or closes them, and freezes or thaws the unit.
func (b *bus) change(ctx context.Context, a *core.Park, open, freeze bool) error {
	name := a.Job.Unit()
	if r := b.w.runs[name]; r == nil || r.attempt != a.Attempt {
		return units.ErrAbsent
	}
	_, err := call(b, ctx, unittest.OpDevices, name, func() (bool, error) {
		if r := b.w.runs[name]; r != nil && !b.dead && r.attempt == a.Attempt {
			r.parked.closed = !open
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	return b.Freeze(ctx, name, freeze)
}

// copyMemory runs a job's helper to its end.
func (w *World) copyMemory(ctx context.Context, a core.Park, unpark bool) (core.ParkEnd, string, time.Duration) {
	l, key, d := w.current.life, fmt.Sprint(a.Job, a.Attempt, unpark), w.roll("helper", uint64(a.Job), uint64(w.Elapsed))
	w.mayDie(l)
	if w.isOn(busGone) || w.isOn(lostCalls) && d.chance(30) {
		_ = w.sleep(ctx, d.shortTime(time.Millisecond))
		return core.ParkUnsure, "the call is lost", 0
	}
	x := w.helpers[key]
	if x == nil || x.until <= w.Elapsed { // if not, the helper of an earlier process of the daemon still runs
		x = &helper{}
		w.helpers[key] = x
		w.runHelper(x, a, unpark, d)
	}
	isLost := w.isOn(lostAnswers) && d.chance(30)
	for w.Elapsed <= x.until {
		if isLost || w.sleep(ctx, x.until-w.Elapsed+1) != nil {
			return core.ParkUnsure, "the answer is lost", 0
		}
	}
	w.mayDie(l)
	return x.end, x.says, x.took
}

// orderPark parks or unparks a random job that runs on GPUs, as its owner or as root.
func (w *World) orderPark(e *Entry) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(w.runs)), func(name string) bool {
		r := w.runs[name]
		return !r.alive || len(r.gpus) == 0 || e.Kind == unpark && r.parked.state == onGPU
	})
	if len(names) == 0 {
		return
	}
	d := w.roll("park", e.Pick)
	r, who := w.runs[pick(d, names...)], root
	if d.chance(70) {
		who = job.Actor{UID: r.uid, User: w.disk.jobs[r.job].Owner.User}
	}
	w.order(e, who, job.Command{Kind: job.CommandKind(e.Kind), Job: r.job})
}

// runHelper decides how a helper ends. What it does to the processes happens at its end.
func (w *World) runHelper(x *helper, a core.Park, unpark bool, d *dice) {
	name, reboots := a.Job.Unit(), w.reboots
	r := w.runs[name]
	if r == nil || !r.alive || r.attempt != a.Attempt {
		x.until, x.says = w.Elapsed+d.shortTime(time.Millisecond), "no process is left"
		return
	}
	w.judgeProcesses(r, &a)
	st, _ := w.bus.sys.Status(context.Background(), name)
	bytes := r.parked.copies()
	w.eachParked(&a, func(_ *card, p *gpu.Process) { bytes += p.UsedBytes })
	x.took = time.Duration(float64(bytes) / (5 * gib) * float64(time.Second))
	x.until = w.Elapsed + d.shortTime(20*time.Millisecond) + x.took
	fault := d.n(100)
	switch {
	case w.healed:
		fault = 100
	case fault < 8: // it hangs, and systemd ends it
		x.until = w.Elapsed + time.Minute + x.took
	}
	if r.parked.state == onGPU && !unpark {
		r.parked.state = locked
	}
	w.after(x.until-w.Elapsed, func() {
		switch {
		case w.reboots != reboots || w.runs[name] != r || !r.alive:
			x.says = "no process is left"
		case st.Frozen || fault < 16: // a frozen process can't help the driver
			w.count("helper without an answer")
			if d.chance(50) && !st.Frozen {
				w.endHelper(x, r, &a, unpark, bytes, 100)
			}
			x.end = core.ParkFailed
		default:
			w.endHelper(x, r, &a, unpark, bytes, fault)
		}
		w.tell("%v: helper ends, unpark %t: %d, %s, the driver's state is %d", r, unpark, x.end, x.says, r.parked.state)
	})
}

// endHelper does what a helper does to a run's processes, which have so much memory.
func (w *World) endHelper(x *helper, r *run, a *core.Park, unpark bool, bytes int64, fault int) {
	p := &r.parked
	switch {
	case p.state == broken:
		x.end, x.says = core.ParkBroken, "a process has failed before"
	case p.state == onGPU, p.state == checkpointed && !unpark: // that is done already
		x.took = 0
	case fault < 24:
		w.count("driver lost the memory")
		p.state = broken
		x.end, x.says = core.ParkBroken, "cuCheckpointProcess: 719 CUDA_ERROR_LAUNCH_FAILED"
	case unpark && len(a.From) > 0 && (fault < 40 || r.trespassed): // nothing says where to move from another job's GPU
		w.count("driver can't move")
		x.end, x.says = core.ParkRefused, "cuCheckpointProcessRestore: 1 CUDA_ERROR_INVALID_VALUE"
	case unpark:
		w.count("unparked")
		w.restore(r, a)
	case fault < 40 || !w.fits(r, w.ownMem(r)+bytes):
		w.count("driver can't park")
		p.state = onGPU
		x.end, x.says = core.ParkRefused, "cuCheckpointProcessCheckpoint: 801 CUDA_ERROR_NOT_SUPPORTED"
	default:
		w.count("parked")
		p.state = checkpointed
		w.eachParked(a, func(g *card, of *gpu.Process) { p.saved = append(p.saved, savedProcess{g, *of}) })
		for _, s := range p.saved {
			s.on.removeProcess(s.PID)
		}
	}
}

// eachParked calls a function for each process on a GPU that a helper is to park.
func (w *World) eachParked(a *core.Park, do func(*card, *gpu.Process)) {
	for _, g := range w.gpus {
		for i := range g.processes {
			of := &g.processes[i]
			if slices.Contains(a.Processes, job.ParkedProcess{PID: of.PID, Start: of.Start}) {
				do(g, of)
			}
		}
	}
}

// restore puts a run's processes back on their GPUs, or on those to which they move.
func (w *World) restore(r *run, a *core.Park) {
	p := &r.parked
	for _, s := range p.saved {
		if w.strays[s.PID] == nil && s.PID >= firstStray { // it has ended
			continue
		}
		if len(a.From) > 0 {
			w.count("moved")
			at := slices.IndexFunc(a.From, func(g job.Allocation) bool { return g.UUID == s.on.UUID })
			if at < 0 {
				w.breach(23, "%v moves from GPU %s, which is not among %v", r, s.on.UUID, a.From)
				continue
			}
			s.on = w.gpuOf(a.GPUs[at].UUID)
		}
		s.UsedBytes = min(s.UsedBytes, w.freeMem(s.on))
		s.on.processes = append(s.on.processes, s.Process)
	}
	if p.state, p.saved = onGPU, nil; len(a.From) > 0 {
		r.gpus, p.moved = job.ContractGPUs(a.GPUs), true
	}
	w.judgeGPUs(r)
}

// fits reports whether a run's unit may use so much host memory.
func (w *World) fits(r *run, bytes int64) bool {
	st, _ := w.bus.sys.Status(context.Background(), r.job.Unit())
	return uint64(bytes) <= st.MemoryMax // or units.Infinity
}

// ownMem returns the host memory that a run uses beside the copies of its GPU memory. It changes
// every half minute.
func (w *World) ownMem(r *run) int64 {
	d := w.roll("uses", uint64(r.job), uint64(r.attempt), uint64(w.Elapsed/(30*time.Second)))
	return min(max(0, r.mem-w.tracked.mirror.jobs[r.job].ParkBytes), pick(d, gib/4, gib, 2*gib, int64(d.n(12))*gib))
}

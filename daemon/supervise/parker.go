package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
)

// parker parks jobs. A unit per job makes the driver copy the GPU memory.
type parker struct {
	Program string // gpusched-nvml
	Scope   units.Scope
	Units   parkUnits
	Owner   func(pid int) gpu.Owner
	Root    string // directory of /dev; "" except in tests
}

// parkUnits is the part of systemd that parks a job.
type parkUnits interface {
	oneshotRunner
	AllowDevices(ctx context.Context, name string, devices []cgroup.Device, open bool) error
	Freeze(ctx context.Context, name string, on bool) error
	Status(ctx context.Context, name string) (units.Status, error)
}

// changeTime limits a change of the job's unit, and what a busy systemd takes in addition to the
// time of the unit that copies.
const changeTime = 20 * time.Second

// fastest is a number of bytes per second. No link to a GPU is faster.
const fastest = 128 << 30

// park implements daemon.Park. The processes must run while the driver copies: a frozen process
// doesn't answer the driver.
func (p *parker) park(ctx context.Context, a core.Park, back, frozen bool) (core.ParkEnd, string, time.Duration) {
	if p.Scope.User {
		return core.ParkRefused, "a user's own scheduler can't close a GPU to a job", 0
	}
	var err error
	switch {
	case back:
		err = p.change(ctx, &a, true, false)
	case frozen: // by an earlier action
		err = p.Units.Freeze(ctx, units.Name(int64(a.Job)), false)
	}
	if errors.Is(err, errUnfiltered) {
		return core.ParkRefused, err.Error(), 0
	}
	if err != nil {
		return unsure(err)
	}
	end, says, took := p.copy(ctx, &a, back)
	switch {
	case end == core.ParkDone && !back, end == core.ParkRefused && back: // it is parked
		err = p.change(ctx, &a, false, a.Freeze)
	case back:
	case end == core.ParkRefused: // an earlier action may have closed the GPUs
		err = p.change(ctx, &a, true, false)
	}
	if err != nil {
		return unsure(err)
	}
	return end, says, took
}

// unsure answers after a call to systemd failed. If the unit is gone, there is nothing to say.
func unsure(err error) (core.ParkEnd, string, time.Duration) {
	if errors.Is(err, units.ErrAbsent) {
		return core.ParkUnsure, "", 0
	}
	return core.ParkUnsure, err.Error(), 0
}

// errUnfiltered keeps a job from moving. CUDA_VISIBLE_DEVICES has the machine's numbers of its GPUs then,
// and its next process would use those that it had.
var errUnfiltered = errors.New("the job runs without a device filter")

// change opens the job's GPUs to its unit, or closes them, and then freezes or thaws the unit. While the
// driver copied, the job may have ended and started again, in a unit of the same name.
func (p *parker) change(ctx context.Context, a *core.Park, open, freeze bool) error {
	ctx, cancel := context.WithTimeout(ctx, changeTime)
	defer cancel()
	name := units.Name(int64(a.Job))
	st, err := p.Units.Status(ctx, name)
	if err != nil {
		return err
	}
	if st.InvocationID != a.Whose.Invocation {
		return fmt.Errorf("change unit %q: %w", name, units.ErrAbsent)
	}
	if open && a.From != nil && st.StatusText == contract.StatusUnfiltered {
		return errUnfiltered
	}
	var own []cgroup.Device
	for _, g := range a.GPUs {
		own = append(own, cgroup.GPU(uint32(g.Minor)))
		own = append(own, p.nodes(g.CapNodes()...)...)
	}
	if err := p.Units.AllowDevices(ctx, name, own, open); err != nil {
		return err
	}
	return p.Units.Freeze(ctx, name, freeze)
}

func (p *parker) nodes(paths ...string) []cgroup.Device {
	for i := range paths {
		paths[i] = p.Root + paths[i]
	}
	return cgroup.StatNodes(paths)
}

// copy runs the unit that makes the driver copy. It runs a second time if its program hung or was
// killed.
func (p *parker) copy(ctx context.Context, a *core.Park, back bool) (end core.ParkEnd, says string, t time.Duration) {
	spec := units.ParkSpec{
		Job: int64(a.Job), Attempt: a.Attempt, UID: a.Whose.UID, Back: back, Bytes: a.Bytes,
		Devices: p.nodes(uvm), Program: p.Program,
	}
	if spec.Processes, says = p.processes(a, back); says != "" {
		return core.ParkRefused, says, 0
	}
	if len(spec.Processes) == 0 {
		return core.ParkDone, "", 0
	}
	for i, from := range a.From {
		spec.Moves = append(spec.Moves, gpu.ParkMoveArgument(from.UUID, a.GPUs[i].UUID))
	}
	for _, g := range a.GPUs {
		spec.GPUs, spec.Devices = append(spec.GPUs, g.GPU), append(spec.Devices, p.nodes(g.CapNodes()...)...)
	}
	for again := range 2 {
		began := time.Now()
		status, err := p.run(ctx, spec)
		if err != nil && status.Active != units.ActiveFailed {
			return unsure(err)
		}
		end, says = copied(&status, back && a.From == nil)
		if end != core.ParkFailed || status.Result == units.ResultExitCode {
			// Otherwise an earlier run has copied a part, or an earlier daemon's unit all.
			if t = time.Since(began); again > 0 || t.Seconds() < float64(a.Bytes)/fastest {
				t = 0
			}
			return end, says, t
		}
		if again == 1 && slices.Contains(killed, status.Result) {
			end = core.ParkBroken
		}
	}
	return end, says, 0
}

// killed are the results of a program that a signal has ended: a crash, a lack of memory, or the
// user. A job whose program was killed twice can't delay its end any longer.
var killed = []string{units.ResultSignal, units.ResultCoreDump, units.ResultOOM}

func (p *parker) run(ctx context.Context, spec units.ParkSpec) (units.Status, error) {
	ctx, cancel := context.WithTimeout(ctx, units.ParkTime(spec)+changeTime)
	defer cancel()
	return p.Units.RunOneshot(ctx, units.ParkName(spec), units.ParkProperties(spec))
}

// processes returns the processes that still exist, as arguments of gpusched-nvml. A process that
// has left the job's unit could keep using the GPU, so it is refused, with a sentence.
func (p *parker) processes(a *core.Park, back bool) (list []string, refused string) {
	for _, proc := range a.Processes {
		o := p.Owner(proc.PID)
		if !o.Alive || o.Start != proc.Start {
			continue
		}
		inUnit := o.Unit == units.Name(int64(a.Job)) || o.Unit == units.JobSlice(a.Whose.UID, int64(a.Job))
		if !back && !inUnit {
			return nil, fmt.Sprintf("process %d on its GPU has left the job's unit", proc.PID)
		}
		list = append(list, gpu.ParkArgument(proc.PID, proc.Start))
	}
	return list, ""
}

// copied returns what the end of the unit says. The driver can't refuse to give processes their own GPUs.
func copied(s *units.Status, own bool) (core.ParkEnd, string) {
	switch s.Result {
	case units.ResultSuccess:
		return core.ParkDone, ""
	case units.ResultTimeout:
		return core.ParkFailed, "the driver gave no answer"
	case units.ResultExitCode:
	default:
		return core.ParkFailed, "gpusched-nvml was ended: " + s.Result
	}
	end, says := core.ParkFailed, cmp.Or(printableLine(s.StatusText), fmt.Sprintf("gpusched-nvml ended with exit status %d", s.MainStatus))
	switch gpu.ParkStatus(s.MainStatus) {
	case gpu.ParkBroken:
		end = core.ParkBroken
	case gpu.ParkRefused, gpu.ParkNoDriver:
		if !own {
			end = core.ParkRefused
		}
	}
	return end, says
}

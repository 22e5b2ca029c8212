package supervise

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/unittest"
)

// parkBench is a systemd with the unit of job 7, and a program that ends in the given ways. It
// records the calls.
type parkBench struct {
	*unittest.Systemd
	ends  []units.Status // each but the last one once
	err   error
	calls []string
	props []units.Property
	meets func() // happens while the program runs; nil: nothing
	text  string // what the unit of the job says
}

func (b *parkBench) Status(ctx context.Context, name string) (units.Status, error) {
	st, err := b.Systemd.Status(ctx, name)
	st.StatusText = b.text
	return st, err
}

func (b *parkBench) RunOneshot(_ context.Context, name string, props []units.Property) (units.Status, error) {
	b.calls, b.props = append(b.calls, name), props
	time.Sleep(time.Second)
	if b.meets != nil {
		b.meets()
	}
	end := b.ends[0]
	if len(b.ends) > 1 {
		b.ends = b.ends[1:]
	}
	return end, b.err
}

func (b *parkBench) AllowDevices(ctx context.Context, name string, devices []cgroup.Device, open bool) error {
	b.calls = append(b.calls, fmt.Sprint("open ", open))
	return b.Systemd.AllowDevices(ctx, name, devices, open)
}

func (b *parkBench) Freeze(ctx context.Context, name string, on bool) error {
	b.calls = append(b.calls, fmt.Sprint("freeze ", on))
	return b.Systemd.Freeze(ctx, name, on)
}

var parkJob7 = core.Park{
	Job: 7, Attempt: 2, Whose: core.Whose{UID: 1001, Invocation: fmt.Sprintf("%032x", 1)}, Freeze: true, GPUs: []job.Allocation{{GPU: contract.GPU{Minor: 3}}},
	Processes: []job.ParkedProcess{{PID: 41, Start: 1}, {PID: 42, Start: 2}, {PID: 43, Start: 3}, {PID: 44, Start: 4}},
}

// newParkBench returns a parker of job 7. Of the job's processes, 43 has ended and 44 is another one.
func newParkBench(t *testing.T, ends ...units.Status) (*parker, *parkBench) {
	t.Helper()
	b := &parkBench{Systemd: unittest.New(unittest.Options{}), ends: ends}
	owners := map[int]gpu.Owner{
		41: {Alive: true, Start: 1, Unit: "gpujob-7.service"}, 42: {Alive: true, Start: 2, Unit: "gpujobs-u1001-j7.slice"},
		44: {Alive: true, Start: 5, Unit: "gpujob-7.service"},
	}
	props := units.Properties(units.Spec{ID: 7, UID: 1001, GPUs: []contract.GPU{{Minor: 3}}})
	if _, err := b.Start(t.Context(), units.Name(7), props); err != nil {
		t.Fatal(err)
	}
	return &parker{Program: "/nvml", Units: b, Root: t.TempDir(), Owner: func(pid int) gpu.Owner { return owners[pid] }}, b
}

func exit(status gpu.ParkStatus, text string) units.Status {
	return units.Status{Active: units.ActiveFailed, Result: units.ResultExitCode, MainStatus: int32(status), StatusText: text}
}

var (
	parked = units.Status{Result: units.ResultSuccess}
	hung   = units.Status{Active: units.ActiveFailed, Result: units.ResultTimeout}
	shot   = units.Status{Active: units.ActiveFailed, Result: units.ResultSignal}
)

// The end of the unit says whether the driver has copied, and what happens to the job's own unit.
func TestParkEnds(t *testing.T) {
	const park, unpark = "gpusched-park-7-2.service", "gpusched-unpark-7-2.service"
	took := time.Second
	for name, c := range map[string]struct {
		back, frozen, moves bool
		ends                []units.Status
		err                 error
		end                 core.ParkEnd
		says                string
		took                time.Duration
		calls               []string
	}{
		"parked":       {ends: []units.Status{parked}, took: took, calls: []string{park, "open false", "freeze true"}},
		"frozen":       {frozen: true, ends: []units.Status{parked}, took: took, calls: []string{"freeze false", park, "open false", "freeze true"}},
		"hung once":    {ends: []units.Status{hung, parked}, calls: []string{park, park, "open false", "freeze true"}},
		"hung":         {ends: []units.Status{hung}, end: core.ParkFailed, says: "the driver gave no answer", calls: []string{park, park}},
		"killed":       {ends: []units.Status{shot}, end: core.ParkBroken, says: "gpusched-nvml was ended: signal", calls: []string{park, park}},
		"refused":      {ends: []units.Status{exit(gpu.ParkRefused, "X: 801 Y\n")}, end: core.ParkRefused, says: "X: 801 Y", took: took, calls: []string{park, "open true", "freeze false"}},
		"no library":   {ends: []units.Status{exit(gpu.ParkNoDriver, "none")}, end: core.ParkRefused, says: "none", took: took, calls: []string{park, "open true", "freeze false"}},
		"broken":       {ends: []units.Status{exit(gpu.ParkBroken, "failed")}, end: core.ParkBroken, says: "failed", took: took, calls: []string{park}},
		"not executed": {ends: []units.Status{exit(203, "")}, end: core.ParkFailed, says: "gpusched-nvml ended with exit status 203", took: took, calls: []string{park}},
		"no systemd":   {ends: []units.Status{{}}, err: errors.New("no bus"), end: core.ParkUnsure, says: "no bus", calls: []string{park}},

		"unparked":        {back: true, frozen: true, ends: []units.Status{parked}, took: took, calls: []string{"open true", "freeze false", unpark}},
		"unpark refused":  {back: true, ends: []units.Status{exit(gpu.ParkRefused, "X")}, end: core.ParkFailed, says: "X", took: took, calls: []string{"open true", "freeze false", unpark}},
		"lost its memory": {back: true, ends: []units.Status{exit(gpu.ParkBroken, "X")}, end: core.ParkBroken, says: "X", took: took, calls: []string{"open true", "freeze false", unpark}},

		"moved":            {back: true, moves: true, ends: []units.Status{parked}, took: took, calls: []string{"open true", "freeze false", unpark}},
		"move refused":     {back: true, moves: true, ends: []units.Status{exit(gpu.ParkRefused, "X")}, end: core.ParkRefused, says: "X", took: took, calls: []string{"open true", "freeze false", unpark, "open false", "freeze true"}},
		"move failed":      {back: true, moves: true, ends: []units.Status{exit(gpu.ParkUnsure, "X")}, end: core.ParkFailed, says: "X", took: took, calls: []string{"open true", "freeze false", unpark}},
		"lost as it moved": {back: true, moves: true, ends: []units.Status{exit(gpu.ParkBroken, "X")}, end: core.ParkBroken, says: "X", took: took, calls: []string{"open true", "freeze false", unpark}},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, b := newParkBench(t, c.ends...)
			b.err = c.err
			a := parkJob7
			if c.moves {
				a.From = []job.Allocation{{GPU: contract.GPU{UUID: "A"}}, {GPU: contract.GPU{UUID: "B"}}}
				a.GPUs = []job.Allocation{{GPU: contract.GPU{UUID: "C", Minor: 5}}, {GPU: contract.GPU{UUID: "B", Minor: 4}}}
			}
			end, says, took := p.park(t.Context(), a, c.back, c.frozen)
			if end != c.end || says != c.says || took != c.took || !slices.Equal(b.calls, c.calls) {
				t.Errorf("%s: %d %q after %s by %q", name, end, says, took, b.calls)
			}
			if args := b.props[2].Value.([]units.ExecCommand)[0].Args; c.moves && !slices.Equal(args[2:], []string{"41:1", "42:2", "A=C", "B=B"}) {
				t.Errorf("%s: it runs %q", name, args)
			}
		})
	}
}

// A job that can open all GPUs does not move, but returns to its own GPU.
func TestUnfilteredJobDoesNotMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, b := newParkBench(t, parked)
		b.text = contract.StatusUnfiltered
		a := parkJob7
		a.From = []job.Allocation{{GPU: contract.GPU{UUID: "A"}}}
		if end, says, _ := p.park(t.Context(), a, true, false); end != core.ParkRefused || says == "" || len(b.calls) > 0 {
			t.Errorf("moved: %d %q by %q", end, says, b.calls)
		}
		if end, says, _ := p.park(t.Context(), parkJob7, true, false); end != core.ParkDone {
			t.Errorf("returned: %d %q", end, says)
		}
	})
}

// Parking leaves the unit the devices that are not its GPUs. Done twice it is the same as once, and
// so is unparking. The program gets the processes that still exist.
func TestParkTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, b := newParkBench(t, parked)
		all := b.Devices(units.Name(7))
		for _, back := range []bool{false, false, true, true} {
			want := all
			if !back {
				want = []units.DeviceAllow{{Path: "/dev/char/195:255", Access: "rw"}}
			}
			st, _ := b.Status(t.Context(), units.Name(7))
			end, says, _ := p.park(t.Context(), parkJob7, back, st.Frozen)
			st, _ = b.Status(t.Context(), units.Name(7))
			has := b.Devices(units.Name(7))
			for _, d := range want {
				has = slices.DeleteFunc(slices.Clone(has), func(h units.DeviceAllow) bool { return h == d })
			}
			if end != core.ParkDone || st.Frozen == back || len(has) > 0 || len(b.Devices(units.Name(7))) != len(want) {
				t.Errorf("back %t: %d %q, frozen %t, devices %v", back, end, says, st.Frozen, b.Devices(units.Name(7)))
			}
			args := b.props[2].Value.([]units.ExecCommand)[0].Args
			if flag := map[bool]string{false: "--park", true: "--unpark"}[back]; !slices.Equal(args, []string{"/nvml", flag, "41:1", "42:2"}) {
				t.Errorf("back %t: it runs %q", back, args)
			}
		}
	})
}

// A call to systemd that fails leaves the action to be done again, quietly if the unit is gone.
func TestParkWithoutAnswer(t *testing.T) {
	for _, op := range []unittest.Op{unittest.OpDevices, unittest.OpFreeze} {
		for _, back := range []bool{false, true} {
			for _, end := range []units.Status{parked, exit(gpu.ParkRefused, "X")} {
				synctest.Test(t, func(t *testing.T) {
					p, b := newParkBench(t, end)
					b.FailNext(op, unittest.LostAnswer())
					if end, says, _ := p.park(t.Context(), parkJob7, back, false); end != core.ParkUnsure || says == "" {
						t.Errorf("%s, back %t: %d %q", op, back, end, says)
					}
				})
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		p, b := newParkBench(t, parked)
		b.Vanish(units.Name(7))
		if end, says, _ := p.park(t.Context(), parkJob7, false, false); end != core.ParkUnsure || says != "" {
			t.Errorf("without a unit: %d %q", end, says)
		}
	})
}

// While the driver copies, the job ends and starts again. The unit of its next attempt is left alone.
func TestParkOfAnEarlierAttempt(t *testing.T) {
	for _, end := range []units.Status{parked, exit(gpu.ParkRefused, "X")} {
		synctest.Test(t, func(t *testing.T) {
			p, b := newParkBench(t, end)
			b.meets = func() {
				b.Vanish(units.Name(7))
				props := units.Properties(units.Spec{ID: 7, Attempt: 3, UID: 1001, GPUs: []contract.GPU{{Minor: 3}}})
				if _, err := b.Start(t.Context(), units.Name(7), props); err != nil {
					t.Fatal(err)
				}
			}
			got, says, _ := p.park(t.Context(), parkJob7, false, false)
			if got != core.ParkUnsure || says != "" || len(b.calls) != 1 {
				t.Errorf("%d %q by %q", got, says, b.calls)
			}
		})
	}
}

// A process that has left the job's unit keeps the job from being parked, but not from returning. A
// job without a process is parked. A user's own scheduler parks nothing.
func TestParkLooksAtProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, b := newParkBench(t, parked)
		p.Owner = func(pid int) gpu.Owner {
			return gpu.Owner{Alive: true, Start: uint64(pid - 40), Unit: "user@1001.service"}
		}
		end, says, _ := p.park(t.Context(), parkJob7, false, false)
		if want := "process 41 on its GPU has left the job's unit"; end != core.ParkRefused || says != want || slices.Contains(b.calls, "gpusched-park-7-2.service") {
			t.Errorf("%d %q by %q", end, says, b.calls)
		}
		if end, says, _ := p.park(t.Context(), parkJob7, true, false); end != core.ParkDone {
			t.Errorf("back: %d %q", end, says)
		}
		p.Owner, b.calls = func(int) gpu.Owner { return gpu.Owner{} }, nil
		if end, says, _ := p.park(t.Context(), parkJob7, false, false); end != core.ParkDone || !slices.Equal(b.calls, []string{"open false", "freeze true"}) {
			t.Errorf("without a process: %d %q by %q", end, says, b.calls)
		}
		more := parkJob7
		more.Bytes = 1 << 40
		if _, _, took := p.park(t.Context(), more, true, false); took != 0 {
			t.Errorf("it copied a TiB in %s", took)
		}
		p.Scope.User = true
		if end, _, _ := p.park(t.Context(), parkJob7, false, false); end != core.ParkRefused {
			t.Errorf("in a user's own scheduler: %d", end)
		}
	})
}

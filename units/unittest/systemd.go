package unittest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/units"
)

// Options configure a systemd in memory.
type Options struct {
	// Behave returns what the main process of a unit does by itself. If Behave is nil, or returns
	// the zero Behaviour, the process runs until the test ends it.
	Behave func(name string, props []units.Property) Behaviour
	// Await waits for a held call until one of the channels is closed. If Await is nil, the call
	// blocks on the channels.
	Await func(ended, gone <-chan struct{})
	// Buffer is the number of changes that may wait; 0: more than a test should need.
	Buffer int
}

// Systemd is a systemd in memory. Any number of goroutines may call its methods at once.
type Systemd struct {
	behave  func(string, []units.Property) Behaviour
	wait    func(ended, gone <-chan struct{})
	changes chan units.Change

	mu          sync.Mutex // guards what follows
	units       map[string]*unit
	slices      map[string]bool // the slices that single jobs have
	aimed       map[string][]int
	started     map[string]int // starts that took effect, by unit, across reboots
	invocations int
	connected   bool
	leaving     bool
	runs        int // number of ended runs of systemd
	faults      map[Op][]Fault
	holds       map[hold]bool
}

const changesBuffer = 1 << 16

// New returns a systemd that is connected and has no units.
func New(o Options) *Systemd {
	s := &Systemd{
		behave: o.Behave, wait: o.Await, changes: make(chan units.Change, cmp.Or(o.Buffer, changesBuffer)), connected: true,
		units: map[string]*unit{}, slices: map[string]bool{}, aimed: map[string][]int{}, started: map[string]int{},
		faults: map[Op][]Fault{}, holds: map[hold]bool{},
	}
	if s.behave == nil {
		s.behave = func(string, []units.Property) Behaviour { return Behaviour{} }
	}
	if s.wait == nil {
		s.wait = func(ended, gone <-chan struct{}) {
			select {
			case <-ended:
			case <-gone:
			}
		}
	}
	return s
}

// Changes returns the channel of hints.
func (s *Systemd) Changes() <-chan units.Change { return s.changes }

// Start does what systemd.Manager.Start does.
func (s *Systemd) Start(ctx context.Context, name string, props []units.Property) (units.Status, error) {
	none := units.Status{Name: name}
	return call(s, ctx, OpStart, name, none, func() (units.Status, error) {
		if s.units[name] != nil {
			return none, fmt.Errorf("start unit %q: %w", name, units.ErrExists)
		}
		if s.leaving {
			return none, fmt.Errorf("start unit %q: %w", name, units.ErrNotNow)
		}
		if slice, _, _ := units.Split(props); slice != "" {
			s.slices[slice] = true
		}
		u := s.create(name, props)
		if !s.holds[hold{OpStart, name}] {
			s.begin(u)
		} else if err := s.await(ctx, u); err != nil {
			return none, err
		}
		if phase, _ := units.Decode(u.status); phase != units.PhaseFailedToStart {
			return u.currentStatus(), nil
		}
		return u.currentStatus(), &units.StartError{JobResult: "failed", Status: u.currentStatus()}
	})
}

// Stop does what systemd.Manager.Stop does.
func (s *Systemd) Stop(ctx context.Context, name string) error {
	_, err := call(s, ctx, OpStop, name, nil, func() (*unit, error) {
		u := s.units[name]
		switch {
		case u == nil:
			s.endSlices(name)
		case u.processesStay:
			s.stopMain(u)
			u.set(units.ActiveInactive, units.SubDead, units.ResultSuccess) // resets the failure
			u.status.JobPending = false                                     // a start that was under way has ended
			s.announce(name)
			return u, fmt.Errorf("stop unit %q: %w", name, units.ErrProcesses)
		case s.holds[hold{OpStop, name}]:
			u.set(units.ActiveDeactivating, "stop-sigterm", u.status.Result)
			u.status.JobPending = true
			s.announce(name)
			return u, s.await(ctx, u)
		default:
			s.remove(u)
		}
		return u, nil
	})
	return err
}

// Kill does what systemd.Manager.Kill does.
func (s *Systemd) Kill(ctx context.Context, name string, signal int, whom units.Whom) error {
	_, err := call(s, ctx, OpKill, name, nil, func() (*unit, error) {
		u := s.units[name]
		if u == nil {
			return nil, fmt.Errorf("kill unit %q: %w", name, units.ErrAbsent)
		}
		if whom == units.Main {
			s.aimed[name] = append(s.aimed[name], signal)
		}
		s.signal(u, signal)
		return u, nil
	})
	return err
}

// Freeze does what systemd.Manager.Freeze does.
func (s *Systemd) Freeze(ctx context.Context, name string, on bool) error {
	_, err := call(s, ctx, OpFreeze, name, nil, func() (*unit, error) {
		u := s.units[name]
		if u == nil {
			return nil, fmt.Errorf("freeze unit %q: %w", name, units.ErrAbsent)
		}
		u.status.Frozen = on
		return u, nil
	})
	return err
}

// SetMemory does what systemd.Manager.SetMemory does.
func (s *Systemd) SetMemory(ctx context.Context, name string, limit, high int64) error {
	_, err := call(s, ctx, OpMemory, name, nil, func() (*unit, error) {
		u := s.units[name]
		if u == nil {
			return nil, fmt.Errorf("set memory of unit %q: %w", name, units.ErrAbsent)
		}
		u.props = append(slices.Clone(u.props), units.MemoryProperties(limit, high)...) // the last value counts
		return u, nil
	})
	return err
}

// AllowDevices does what systemd.Manager.AllowDevices does.
func (s *Systemd) AllowDevices(ctx context.Context, name string, devices []cgroup.Device, open bool) error {
	_, err := call(s, ctx, OpDevices, name, nil, func() (*unit, error) {
		u := s.units[name]
		if u == nil {
			return nil, fmt.Errorf("set devices of unit %q: %w", name, units.ErrAbsent)
		}
		if slice, _, _ := units.Split(u.props); slices.Contains(u.props, units.Property{Name: "DevicePolicy", Value: "closed"}) {
			u.replace(units.Property{Name: "DeviceAllow", Value: units.ChangeDevices(u.devices(), devices, open, slice != "")})
		}
		return u, nil
	})
	return err
}

// Status does what systemd.Manager.Status does.
func (s *Systemd) Status(ctx context.Context, name string) (units.Status, error) {
	none := units.Status{Name: name, Load: units.LoadNotFound, Active: units.ActiveInactive, Sub: units.SubDead}
	return call(s, ctx, OpStatus, name, none, func() (units.Status, error) {
		if u := s.units[name]; u != nil {
			return u.currentStatus(), nil
		}
		return none, nil
	})
}

// Origin does what systemd.Manager.Origin does.
func (s *Systemd) Origin(ctx context.Context, name string) (units.Origin, error) {
	return call(s, ctx, OpStatus, name, units.Origin{}, func() (units.Origin, error) {
		if u := s.units[name]; u != nil {
			return units.OriginOf(u.props), nil
		}
		return units.Origin{}, fmt.Errorf("origin of unit %q: %w", name, units.ErrAbsent)
	})
}

// System does what systemd.Manager.System does.
func (s *Systemd) System(ctx context.Context) (units.System, error) {
	return call(s, ctx, OpStatus, units.Name(1), units.System{}, func() (units.System, error) {
		return units.System{Run: strconv.Itoa(s.runs), Stopping: s.leaving}, nil
	})
}

// List does what systemd.Manager.List does.
func (s *Systemd) List(ctx context.Context) ([]units.Status, error) {
	return call(s, ctx, OpList, units.Name(1), nil, func() (all []units.Status, _ error) {
		for _, name := range slices.Sorted(maps.Keys(s.units)) {
			all = append(all, s.units[name].currentStatus())
		}
		return all, nil
	})
}

// call calls do under the lock, unless there is no bus or the test has set a fault. After a fault
// it returns the argument zero.
func call[T any](s *Systemd, ctx context.Context, op Op, name string, zero T, do func() (T, error)) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := units.ParseName(name); !ok {
		return zero, fmt.Errorf("%q is not the unit of a job", name)
	}
	if err := ctx.Err(); err != nil {
		return zero, fmt.Errorf("%s unit %q: %w: %w", op, name, units.ErrBus, err)
	}
	if !s.connected {
		return zero, fmt.Errorf("%s unit %q: %w", op, name, units.ErrBus)
	}
	fault := s.nextFault(op)
	if fault.Err != nil && !fault.Happens {
		return zero, fmt.Errorf("%s unit %q: %w", op, name, fault.Err)
	}
	got, err := do()
	if fault.Err != nil {
		return zero, fault.Err
	}
	return got, err
}

// announce announces a change if there is a bus.
func (s *Systemd) announce(name string) {
	if s.connected {
		s.send(units.Change{Name: name})
	}
}

func (s *Systemd) send(c units.Change) {
	select {
	case s.changes <- c:
	default:
		panic("unittest: nobody reads Changes")
	}
}

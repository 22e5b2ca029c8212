package unittest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gpusched/gpusched/units"
)

// Options are what may differ between systemds in memory.
type Options struct {
	// Behave says what the main process of a unit does by itself. nil, and the
	// zero Behaviour, run until the test ends them.
	Behave func(name string, props []units.Property) Behaviour
	// Await is how a call waits that Hold keeps from its end: until one of the
	// channels is closed. nil waits for them.
	Await func(ended, gone <-chan struct{})
	// Buffer is how many changes may wait; 0 is more than a test should need.
	Buffer int
}

// Systemd is a systemd in memory. Its methods may be called by any number of
// goroutines at once.
type Systemd struct {
	behave  func(string, []units.Property) Behaviour
	wait    func(ended, gone <-chan struct{})
	changes chan units.Change

	mu          sync.Mutex // guards what follows
	units       map[string]*unit
	started     map[string]int // starts that took effect, by unit, over all reboots
	invocations int
	connected   bool
	leaving     bool
	runs        int // of systemd, that have ended
	faults      map[Op][]Fault
	holds       map[hold]bool
}

const changesBuffer = 1 << 16

// New returns a systemd that is connected and has no units.
func New(o Options) *Systemd {
	s := &Systemd{
		behave: o.Behave, wait: o.Await, changes: make(chan units.Change, cmp.Or(o.Buffer, changesBuffer)), connected: true,
		units: map[string]*unit{}, started: map[string]int{}, faults: map[Op][]Fault{}, holds: map[hold]bool{},
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

// Start is systemd.Manager's.
func (s *Systemd) Start(ctx context.Context, name string, props []units.Property) (units.Status, error) {
	none := units.Status{Name: name}
	s.mu.Lock()
	fault, err := s.enter(ctx, OpStart, name)
	if err != nil {
		s.mu.Unlock()
		return none, err
	}
	if s.units[name] != nil {
		s.mu.Unlock()
		return none, fault.orElse(fmt.Errorf("start unit %q: %w", name, units.ErrExists))
	}
	if s.leaving {
		s.mu.Unlock()
		return none, fault.orElse(fmt.Errorf("start unit %q: %w", name, units.ErrNotNow))
	}
	u := s.create(name, props)
	if s.holds[hold{OpStart, name}] {
		err = s.await(ctx, u)
	} else {
		s.begin(u)
	}
	status := u.status
	s.mu.Unlock()
	if err = fault.orElse(err); err != nil {
		return none, err
	}
	if phase, _ := units.Decode(status); phase != units.PhaseFailedToStart {
		return status, nil
	}
	return status, &units.StartError{JobResult: "failed", Status: status}
}

// Stop is systemd.Manager's.
func (s *Systemd) Stop(ctx context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	fault, err := s.enter(ctx, OpStop, name)
	if err != nil {
		return err
	}
	u := s.units[name]
	switch {
	case u == nil:
	case u.processesStay:
		s.stopMain(u)
		u.set(units.ActiveInactive, units.SubDead, units.ResultSuccess) // the failure is reset already
		s.tell(name)
		return fault.orElse(fmt.Errorf("stop unit %q: %w", name, units.ErrProcesses))
	case s.holds[hold{OpStop, name}]:
		u.set(units.ActiveDeactivating, "stop-sigterm", u.status.Result)
		u.status.JobPending = true
		s.tell(name)
		err = s.await(ctx, u)
	default:
		s.remove(u)
	}
	return fault.orElse(err)
}

// Kill is systemd.Manager's.
func (s *Systemd) Kill(ctx context.Context, name string, signal int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	fault, err := s.enter(ctx, OpKill, name)
	if err != nil {
		return err
	}
	u := s.units[name]
	if u == nil {
		return fault.orElse(fmt.Errorf("kill unit %q: %w", name, units.ErrAbsent))
	}
	s.signal(u, signal)
	return fault.orElse(nil)
}

// Status is systemd.Manager's.
func (s *Systemd) Status(ctx context.Context, name string) (units.Status, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fault, err := s.enter(ctx, OpStatus, name)
	if err = fault.orElse(err); err != nil {
		return absent(name), err
	}
	if u := s.units[name]; u != nil {
		return u.status, nil
	}
	return absent(name), nil
}

// Origin is systemd.Manager's.
func (s *Systemd) Origin(ctx context.Context, name string) (units.Origin, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fault, err := s.enter(ctx, OpStatus, name)
	if err = fault.orElse(err); err != nil {
		return units.Origin{}, err
	}
	u := s.units[name]
	if u == nil {
		return units.Origin{}, fmt.Errorf("origin of unit %q: %w", name, units.ErrAbsent)
	}
	return units.OriginOf(u.props), nil
}

// System is systemd.Manager's.
func (s *Systemd) System(ctx context.Context) (units.System, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fault, err := s.enter(ctx, OpStatus, units.Name(1))
	if err = fault.orElse(err); err != nil {
		return units.System{}, err
	}
	return units.System{Run: strconv.Itoa(s.runs), Stopping: s.leaving}, nil
}

// List is systemd.Manager's.
func (s *Systemd) List(ctx context.Context) ([]units.Status, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fault, err := s.enter(ctx, OpList, units.Name(1))
	if err = fault.orElse(err); err != nil {
		return nil, err
	}
	var all []units.Status
	for _, u := range s.units {
		all = append(all, u.status)
	}
	slices.SortFunc(all, func(a, b units.Status) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// enter is what every call begins with. It returns the fault that the test laid
// out for it.
func (s *Systemd) enter(ctx context.Context, op Op, name string) (Fault, error) {
	if _, ok := units.ParseName(name); !ok {
		return Fault{}, fmt.Errorf("%q is not the unit of a job", name)
	}
	if err := ctx.Err(); err != nil {
		return Fault{}, fmt.Errorf("%s unit %q: %w: %w", op, name, units.ErrBus, err)
	}
	if !s.connected {
		return Fault{}, fmt.Errorf("%s unit %q: %w", op, name, units.ErrBus)
	}
	fault := s.nextFault(op)
	if fault.Err != nil && !fault.Happens {
		return fault, fmt.Errorf("%s unit %q: %w", op, name, fault.Err)
	}
	return fault, nil
}

// tell announces a change, where there is a bus.
func (s *Systemd) tell(name string) {
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

func absent(name string) units.Status {
	return units.Status{Name: name, Load: units.LoadNotFound, Active: units.ActiveInactive, Sub: units.SubDead}
}

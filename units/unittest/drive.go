package unittest

import (
	"fmt"
	"maps"
	"slices"
	"syscall"

	"github.com/gpusched/gpusched/units"
)

// Exit ends the running main process of the named unit with an exit status.
func (s *Systemd) Exit(name string, code int) {
	s.drive(name, func(u *unit) { s.exit(u, code) })
}

// KillBy ends the running main process of the named unit by a signal that no call of Kill has sent.
func (s *Systemd) KillBy(name string, signal int) {
	s.drive(name, func(u *unit) { s.die(u, syscall.Signal(signal), "") })
}

// OOM makes the kernel kill the named unit for lack of memory.
func (s *Systemd) OOM(name string) {
	s.drive(name, func(u *unit) { s.die(u, syscall.SIGKILL, units.ResultOOM) })
}

// Timeout makes the named unit reach its RuntimeMaxUSec.
func (s *Systemd) Timeout(name string) {
	s.drive(name, func(u *unit) { s.die(u, syscall.SIGTERM, units.ResultTimeout) })
}

// Answer lets the main process of the named unit end with an exit status. The process
// ends because of a stop that Hold delays and whose caller is gone. The result stays, because
// nobody collects the unit.
func (s *Systemd) Answer(name string, code int) {
	s.drive(name, func(u *unit) {
		delete(s.holds, hold{OpStop, name})
		s.exit(u, code)
		if u.held != nil {
			close(u.held)
			u.held = nil
		}
	})
}

// drive acts on a unit. It panics if the main process does not run, because that is an error in the
// test.
func (s *Systemd) drive(name string, act func(*unit)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.units[name]
	if u == nil || !u.running() {
		panic(fmt.Sprintf("unittest: the main process of %q is not running", name))
	}
	act(u)
}

// Vanish removes the named unit from systemd with everything in it, without a result.
func (s *Systemd) Vanish(name string) { s.withUnit(name, s.remove) }

// Slices returns the slices that single jobs have, whatever the state of the bus.
func (s *Systemd) Slices() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.slices))
}

// KeepProcesses makes the processes of the named unit survive every kill, so that Stop returns
// units.ErrProcesses. If the argument keep is false, they do not survive kills any more.
func (s *Systemd) KeepProcesses(name string, keep bool) {
	s.withUnit(name, func(u *unit) { u.processesStay = keep })
}

// withUnit calls a function with the named unit, if there is one.
func (s *Systemd) withUnit(name string, do func(*unit)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.units[name]; u != nil {
		do(u)
	}
}

// Leave begins a shutdown: nothing starts any more. The test removes the units. It ends the
// shutdown with Reboot, or cancels it with Leave(false).
func (s *Systemd) Leave(leave bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaving = leave
}

// Sweep makes systemd begin to stop the named unit by itself, as in a shutdown. The test then ends
// the main process. A unit that succeeded is dropped at once.
func (s *Systemd) Sweep(name string) {
	s.drive(name, func(u *unit) {
		u.set(units.ActiveDeactivating, "stop-sigterm", units.ResultSuccess)
		u.status.JobPending = true
		s.announce(name)
	})
}

// Reboot removes all units at once, like a power cut, without announcing any change. Faults and
// holds are removed, and the bus is connected.
func (s *Systemd) Reboot() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, u := range s.units {
		if u.held != nil {
			u.lost = true
			close(u.held)
		}
	}
	clear(s.units)
	clear(s.slices)
	clear(s.faults)
	clear(s.holds)
	s.connected, s.leaving = true, false
	s.runs++
}

// Names returns the units that systemd has, whatever the state of the bus.
func (s *Systemd) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.units))
}

// Started returns how many starts of the named unit took effect since New.
func (s *Systemd) Started(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started[name]
}

// Running reports whether the main process of the named unit runs.
func (s *Systemd) Running(name string) bool {
	return askUnit(s, name, (*unit).running)
}

// Aimed returns the signals that were sent only to the main process of the named unit.
func (s *Systemd) Aimed(name string) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.aimed[name]
}

// Properties returns the properties with which the named unit was started; nil if there is no such
// unit.
func (s *Systemd) Properties(name string) []units.Property {
	return askUnit(s, name, func(u *unit) []units.Property { return u.props })
}

// DropIn sets properties of the named unit like a drop-in of the site.
func (s *Systemd) DropIn(name string, props ...units.Property) {
	s.withUnit(name, func(u *unit) { u.replace(props...) })
}

// replace gives properties other values.
func (u *unit) replace(props ...units.Property) {
	u.props = slices.DeleteFunc(slices.Clone(u.props), func(was units.Property) bool {
		return slices.ContainsFunc(props, func(p units.Property) bool { return p.Name == was.Name })
	})
	u.props = append(u.props, props...)
}

// Devices returns the devices that the named unit may open.
func (s *Systemd) Devices(name string) []units.DeviceAllow {
	return askUnit(s, name, (*unit).devices)
}

func (u *unit) devices() (list []units.DeviceAllow) {
	for _, p := range u.props {
		if more, is := p.Value.([]units.DeviceAllow); is {
			list = append(list, more...)
		}
	}
	return list
}

// Processes returns the number of processes of the named unit.
func (s *Systemd) Processes(name string) int {
	return askUnit(s, name, func(u *unit) int { return u.processes })
}

// askUnit asks something about a unit. The answer is zero if there is no such unit.
func askUnit[T any](s *Systemd, name string, ask func(*unit) T) (answer T) {
	s.withUnit(name, func(u *unit) { answer = ask(u) })
	return answer
}

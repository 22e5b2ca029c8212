package unittest

import (
	"fmt"
	"maps"
	"slices"
	"syscall"

	"github.com/gpusched/gpusched/units"
)

// Exit ends the running main process of name with an exit status.
func (s *Systemd) Exit(name string, code int) {
	s.drive(name, func(u *unit) { s.exit(u, code) })
}

// KillBy ends the running main process of name by a signal that does not come
// from a call of Kill.
func (s *Systemd) KillBy(name string, signal int) {
	s.drive(name, func(u *unit) { s.die(u, syscall.Signal(signal), "") })
}

// OOM lets the kernel kill name for memory.
func (s *Systemd) OOM(name string) {
	s.drive(name, func(u *unit) { s.die(u, syscall.SIGKILL, units.ResultOOM) })
}

// Timeout lets name meet its RuntimeMaxUSec.
func (s *Systemd) Timeout(name string) {
	s.drive(name, func(u *unit) { s.die(u, syscall.SIGTERM, units.ResultTimeout) })
}

// Answer ends the main process of name with an exit status, in answer to a stop that Hold
// keeps and whose caller is gone: nobody has systemd forget how it ended.
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

// drive panics where there is nothing to drive: the test is wrong then.
func (s *Systemd) drive(name string, act func(*unit)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.units[name]
	if u == nil || !u.running() {
		panic(fmt.Sprintf("unittest: the main process of %q is not running", name))
	}
	act(u)
}

// Vanish makes systemd lose name with everything of it, without a result.
func (s *Systemd) Vanish(name string) { s.with(name, s.remove) }

// KeepProcesses makes the processes of name survive every kill, so that Stop
// answers units.ErrProcesses, until it is called with false.
func (s *Systemd) KeepProcesses(name string, keep bool) {
	s.with(name, func(u *unit) { u.processesStay = keep })
}

// with does something with a unit, where it is there.
func (s *Systemd) with(name string, do func(*unit)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.units[name]; u != nil {
		do(u)
	}
}

// Leave begins a shutdown: nothing is started any more. The test takes the units
// away, and ends it by Reboot, or by false where it is called off.
func (s *Systemd) Leave(leave bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaving = leave
}

// Sweep has systemd begin to stop name by itself, as in a shutdown. The test ends
// the main process, after which a success is forgotten at once.
func (s *Systemd) Sweep(name string) {
	s.drive(name, func(u *unit) {
		u.set(units.ActiveDeactivating, "stop-sigterm", units.ResultSuccess)
		u.status.JobPending = true
		s.tell(name)
	})
}

// Reboot takes all units away at once, as a power cut does: nobody is told.
// Faults and holds are forgotten; the bus is there.
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
	clear(s.faults)
	clear(s.holds)
	s.connected, s.leaving = true, false
	s.runs++
}

// Names lists the units that systemd has, whatever the bus is like.
func (s *Systemd) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.units))
}

// Started counts the starts of name that took effect, since New.
func (s *Systemd) Started(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started[name]
}

// Running reports whether the main process of name runs.
func (s *Systemd) Running(name string) bool {
	return about(s, name, (*unit).running)
}

// Aimed returns the signals that were sent to the main process of name alone.
func (s *Systemd) Aimed(name string) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.aimed[name]
}

// Properties returns what name was started with; nil if it is not there.
func (s *Systemd) Properties(name string) []units.Property {
	return about(s, name, func(u *unit) []units.Property { return u.props })
}

// DropIn sets properties of name as a drop-in of the site does.
func (s *Systemd) DropIn(name string, props ...units.Property) {
	s.with(name, func(u *unit) {
		u.props = slices.DeleteFunc(slices.Clone(u.props), func(was units.Property) bool {
			return slices.ContainsFunc(props, func(p units.Property) bool { return p.Name == was.Name })
		})
		u.props = append(u.props, props...)
	})
}

// Processes counts the processes of name.
func (s *Systemd) Processes(name string) int {
	return about(s, name, func(u *unit) int { return u.processes })
}

// about asks something of a unit; the answer is zero where it is not there.
func about[T any](s *Systemd, name string, ask func(*unit) T) (answer T) {
	s.with(name, func(u *unit) { answer = ask(u) })
	return answer
}

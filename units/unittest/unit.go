package unittest

import (
	"fmt"
	"maps"
	"slices"
	"syscall"

	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
)

// Behaviour is what the main process of a unit does. With the zero value the process runs until
// something ends it.
type Behaviour struct {
	Ends     bool          // the process ends by itself, as soon as it starts, with Code or Signal
	Code     int           // exit status
	Signal   int           // signal with which it kills itself; 0: it exits
	Launch   contract.Step // the failure that the launcher reports, with Code and Errno
	Errno    int
	NotStart int  // systemd can't start it at all and ends with this status, such as 217
	Deaf     bool // it ignores every signal that can be ignored
	Orphan   bool // it leaves a process behind at its end
	TimesOut bool // it reaches RuntimeMaxUSec
	Stopping bool // it sends STOPPING=1 as soon as it starts, and keeps running
	Extends  bool // it asks for another hour to end (EXTEND_TIMEOUT_USEC), and ignores SIGTERM
}

// isDeaf reports whether the main process survives SIGTERM.
func (b Behaviour) isDeaf() bool { return b.Deaf || b.Extends }

// unit is one unit that systemd has.
type unit struct {
	status        units.Status
	props         []units.Property
	behaviour     Behaviour
	processes     int
	processesStay bool
	held          chan struct{} // closed when the held operation may continue
	lost          bool          // removed by a reboot
}

func (u *unit) set(active, sub, result string) {
	u.status.Active, u.status.Sub, u.status.Result = active, sub, result
}

func (u *unit) running() bool { return u.processes > 0 && u.status.MainCode == 0 }

// create makes a unit whose start is under way.
func (s *Systemd) create(name string, props []units.Property) *unit {
	u := &unit{props: props, behaviour: s.behave(name, props)}
	u.status = units.Status{Name: name, Load: units.LoadLoaded, JobPending: true, CPUNSec: units.Infinity,
		MemoryPeak: units.Infinity}
	s.invocations++
	u.status.InvocationID = fmt.Sprintf("%032x", s.invocations)
	u.set(units.ActiveActivating, "start", units.ResultSuccess)
	s.units[name] = u
	s.started[name]++
	s.announce(name)
	return u
}

// currentStatus returns the unit's present status.
func (u *unit) currentStatus() units.Status {
	s := u.status
	s.MemoryMax, s.MemoryHigh = units.Infinity, units.Infinity
	for _, p := range u.props {
		switch n, _ := p.Value.(uint64); p.Name {
		case "MemoryMax":
			s.MemoryMax = n
		case "MemoryHigh":
			s.MemoryHigh = n
		}
	}
	ended := s.Active == units.ActiveFailed || s.Active == units.ActiveActive && s.Sub == units.SubExited
	slice, _, _ := units.Split(u.props)
	ended = ended && slice == ""
	s.Spent = ended && u.processes == 0 && !u.processesStay && !s.JobPending && !slices.ContainsFunc(u.props, stopsWith)
	return s
}

// stopsWith reports whether a property has commands that a stop runs.
func stopsWith(p units.Property) bool { return p.Name == "ExecStop" || p.Name == "ExecStopPost" }

// begin ends the start: the main process runs, or never will.
func (s *Systemd) begin(u *unit) {
	u.status.JobPending = false
	b := u.behaviour
	if b.NotStart != 0 {
		u.status.MainCode, u.status.MainStatus = units.CLDExited, int32(b.NotStart)
		u.set(units.ActiveFailed, units.SubFailed, units.ResultExitCode)
		s.announce(u.status.Name)
		return
	}
	u.processes = 1
	u.status.MainPID = firstPID + uint32(s.invocations)
	u.status.ControlGroup = controlGroup(u)
	if b.Stopping {
		// The worst case: systemd gets STOPPING=1 before it sees the start of the process, and the
		// systemd job of the start stays.
		u.status.JobPending = true
		u.set(units.ActiveDeactivating, "stop-sigterm", units.ResultSuccess)
		s.announce(u.status.Name)
		return
	}
	u.status.WasActive = true
	u.set(units.ActiveActive, units.SubRunning, units.ResultSuccess)
	s.announce(u.status.Name)
	switch {
	case b.Launch != "":
		u.status.StatusText, u.status.StatusErrno = contract.StatusPrefix+string(b.Launch), int32(b.Errno)
		s.exit(u, b.Code)
	case b.TimesOut:
		s.die(u, syscall.SIGTERM, units.ResultTimeout)
	case b.Ends && b.Signal != 0:
		s.die(u, syscall.Signal(b.Signal), "")
	case b.Ends:
		s.exit(u, b.Code)
	}
}

// firstPID is less than every process id of a main process.
const firstPID = 100000

func controlGroup(u *unit) string {
	for _, p := range u.props {
		if slice, ok := p.Value.(string); ok && p.Name == "Slice" {
			if uid, _, own := units.ParseJobSlice(slice); own {
				return units.Scope{}.ControlGroup(uid, slice)
			}
			return "/gpujobs.slice/" + slice + "/" + u.status.Name
		}
	}
	return "/system.slice/" + u.status.Name
}

func (s *Systemd) exit(u *unit, code int) {
	u.status.MainCode, u.status.MainStatus = units.CLDExited, int32(code)
	if code == 0 {
		s.end(u, units.ResultSuccess)
	} else {
		s.end(u, units.ResultExitCode)
	}
}

// die ends the main process by a signal. The argument result is systemd's result; "" means that it
// follows from the signal.
func (s *Systemd) die(u *unit, sig syscall.Signal, result string) {
	u.status.MainCode, u.status.MainStatus = units.CLDKilled, int32(sig)
	switch {
	case result != "":
	case isClean(sig):
		result = units.ResultSuccess
	default:
		result = units.ResultSignal
	}
	s.end(u, result)
}

// isClean reports whether systemd counts a death by this signal as success.
func isClean(sig syscall.Signal) bool {
	return sig == syscall.SIGTERM || sig == syscall.SIGHUP || sig == syscall.SIGINT || sig == syscall.SIGPIPE
}

// end does what systemd does when the main process is gone. After a success the unit stays active
// with the processes that are left. After a failure these processes are killed.
func (s *Systemd) end(u *unit, result string) {
	u.status.MainPID, u.status.JobPending = 0, false
	u.status.Stopped = u.status.WasActive && (u.status.Active == units.ActiveDeactivating || result == units.ResultTimeout)
	if u.status.Active == units.ActiveDeactivating {
		s.endStopped(u, result)
		return
	}
	if result == units.ResultSuccess {
		u.set(units.ActiveActive, units.SubExited, result)
		u.processes = 0
		if u.behaviour.Orphan {
			u.processes = 1
		}
	} else {
		u.set(units.ActiveFailed, units.SubFailed, result)
		u.processes = 0
		u.status.ControlGroup = ""
	}
	s.announce(u.status.Name)
}

// endStopped ends a unit that is deactivating. No process of it remains, and a unit that succeeded
// is dropped at once.
func (s *Systemd) endStopped(u *unit, result string) {
	u.processes, u.status.ControlGroup = 0, ""
	if result == units.ResultSuccess {
		s.remove(u)
		return
	}
	u.set(units.ActiveFailed, units.SubFailed, result)
	s.announce(u.status.Name)
}

// signal sends a signal to all processes of u.
func (s *Systemd) signal(u *unit, signal int) {
	sig := syscall.Signal(signal)
	if u.processes == 0 || u.processesStay || isHarmless(sig) || u.behaviour.isDeaf() && sig != syscall.SIGKILL {
		return
	}
	if u.running() {
		u.behaviour.Orphan = false
		s.die(u, sig, "")
		return
	}
	u.processes = 0
	s.announce(u.status.Name)
}

// isHarmless reports whether a process without a handler survives this signal.
func isHarmless(sig syscall.Signal) bool {
	switch sig {
	case 0, syscall.SIGCHLD, syscall.SIGCONT, syscall.SIGURG, syscall.SIGWINCH, syscall.SIGSTOP, syscall.SIGTSTP,
		syscall.SIGTTIN, syscall.SIGTTOU:
		return true
	}
	return false
}

func (s *Systemd) stopMain(u *unit) {
	if u.running() {
		u.status.MainPID, u.status.MainCode, u.status.MainStatus = 0, units.CLDKilled, int32(syscall.SIGTERM)
	}
}

// endSlices ends the slices whose names contain the job of a unit.
func (s *Systemd) endSlices(name string) {
	maps.DeleteFunc(s.slices, func(slice string, _ bool) bool {
		_, id, _ := units.ParseJobSlice(slice)
		return units.Name(id) == name
	})
}

// remove ends a stop: systemd drops the unit and the job's own slice.
func (s *Systemd) remove(u *unit) {
	s.endSlices(u.status.Name)
	delete(s.units, u.status.Name)
	if u.held != nil {
		if u.status.Active == units.ActiveActivating { // a cancelled start
			u.lost = true
			delete(s.holds, hold{OpStart, u.status.Name})
		}
		close(u.held)
		u.held = nil
	}
	s.announce(u.status.Name)
}

package unittest

import "github.com/gpusched/gpusched/units"

// Op is one kind of call.
type Op string

// The kinds of calls.
const (
	OpStart   Op = "start"
	OpStop    Op = "stop"
	OpKill    Op = "kill"
	OpFreeze  Op = "freeze"
	OpMemory  Op = "set memory of"
	OpDevices Op = "set devices of"
	OpStatus  Op = "status of"
	OpList    Op = "list"
)

// Fault is the failure of one call.
type Fault struct {
	Err     error // returned to the caller
	Happens bool  // the call takes effect anyway: only its answer is lost
}

// LostAnswer is the fault in which a call takes effect, but its caller gets no answer.
func LostAnswer() Fault { return Fault{Err: units.ErrBus, Happens: true} }

// LostCall is the fault in which a call never reaches systemd.
func LostCall() Fault { return Fault{Err: units.ErrBus} }

// FailNext makes the next calls of the kind op fail. Each fault is for one call, in this order. The
// faults of earlier calls of FailNext come first.
func (s *Systemd) FailNext(op Op, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[op] = append(s.faults[op], faults...)
}

func (s *Systemd) nextFault(op Op) Fault {
	if len(s.faults[op]) == 0 {
		return Fault{}
	}
	f := s.faults[op][0]
	s.faults[op] = s.faults[op][1:]
	return f
}

// Disconnect takes the bus away: calls return units.ErrBus, changes are lost, and units continue.
func (s *Systemd) Disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connected = false
}

// Reconnect brings the bus back, which causes a Resync.
func (s *Systemd) Reconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connected = true
	s.send(units.Change{Resync: true})
}

// Signal announces a change of the named unit although nothing happened. systemd announces such
// changes of all units when it reloads.
func (s *Systemd) Signal(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.announce(name)
}

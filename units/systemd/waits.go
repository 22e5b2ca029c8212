package systemd

import (
	"sync"

	"github.com/godbus/dbus/v5"
)

// waits are the callers that wait for something to happen to a unit. A caller
// enters before it makes its call, so that a job which ends before the call
// returns is not missed.
type waits struct {
	mu   sync.Mutex
	unit map[string]map[*wait]struct{}
}

// wait is one caller. poked says that something happened: look again.
type wait struct {
	poked  chan struct{} // holds at most one token
	starts bool          // its caller starts the unit

	mu      sync.Mutex
	results map[dbus.ObjectPath]string
}

func newWaits() *waits { return &waits{unit: map[string]map[*wait]struct{}{}} }

func (w *waits) enter(unit string) *wait { return w.join(unit, &wait{}) }

// enterStart is enter for a caller that starts the unit.
func (w *waits) enterStart(unit string) *wait { return w.join(unit, &wait{starts: true}) }

func (w *waits) join(unit string, one *wait) *wait {
	one.poked, one.results = make(chan struct{}, 1), map[dbus.ObjectPath]string{}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.unit[unit] == nil {
		w.unit[unit] = map[*wait]struct{}{}
	}
	w.unit[unit][one] = struct{}{}
	return one
}

func (w *waits) leave(unit string, one *wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.unit[unit], one)
	if len(w.unit[unit]) == 0 {
		delete(w.unit, unit)
	}
}

// finish tells the callers at unit how a job ended, and whether there is any.
func (w *waits) finish(unit string, job dbus.ObjectPath, result string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.unit[unit] {
		one.finish(job, result)
	}
	return len(w.unit[unit]) > 0
}

// poke makes the callers at unit look again, and reports whether there is any.
func (w *waits) poke(unit string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.unit[unit] {
		one.poke()
	}
	return len(w.unit[unit]) > 0
}

// pokeStarts makes those look again that wait for a start of unit.
func (w *waits) pokeStarts(unit string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.unit[unit] {
		if one.starts {
			one.poke()
		}
	}
}

func (w *waits) pokeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, all := range w.unit {
		for one := range all {
			one.poke()
		}
	}
}

func (one *wait) finish(job dbus.ObjectPath, result string) {
	one.mu.Lock()
	one.results[job] = result
	one.mu.Unlock()
	one.poke()
}

func (one *wait) poke() {
	select {
	case one.poked <- struct{}{}:
	default:
	}
}

func (one *wait) result(job dbus.ObjectPath) (string, bool) {
	one.mu.Lock()
	defer one.mu.Unlock()
	r, ok := one.results[job]
	return r, ok
}

package systemd

import (
	"sync"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

// waiters are the callers that wait for an event of a unit. A caller registers before it makes its
// call. Otherwise it would miss a systemd job that ends before the call returns.
type waiters struct {
	mu   sync.Mutex
	unit map[string]map[*waiter]struct{}
}

// A waiter is one caller. A token in woken means that something happened and the caller must check
// again.
type waiter struct {
	woken chan struct{} // holds at most one token

	mu      sync.Mutex
	results map[dbus.ObjectPath]string
	removed bool        // systemd has dropped the unit since its last job ended
	starts  bool        // the caller starts the unit, and only such a caller gets the unit's state
	last    *unitChange // the last state
}

// enter adds a caller. The argument isStart means that the caller starts the unit.
func (w *waiters) enter(unit string, isStart bool) *waiter {
	one := &waiter{woken: make(chan struct{}, 1), results: map[dbus.ObjectPath]string{}, starts: isStart}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.unit[unit] == nil {
		w.unit[unit] = map[*waiter]struct{}{}
	}
	w.unit[unit][one] = struct{}{}
	return one
}

func (w *waiters) leave(unit string, one *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.unit[unit], one)
	if len(w.unit[unit]) == 0 {
		delete(w.unit, unit)
	}
}

// finish tells the unit's callers how a systemd job ended, and reports whether there are any
// callers.
func (w *waiters) finish(unit string, job dbus.ObjectPath, result string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.unit[unit] {
		one.finish(job, result)
	}
	return len(w.unit[unit]) > 0
}

// remove tells the unit's callers that systemd has dropped the unit, and reports whether there are
// any callers.
func (w *waiters) remove(unit string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.unit[unit] {
		one.mu.Lock()
		one.removed = true
		one.mu.Unlock()
		one.wake()
	}
	return len(w.unit[unit]) > 0
}

// tellStarters gives a unit's present state to the callers that start the unit, and reports whether
// there are any such callers. It wakes these callers if the unit is being stopped.
func (w *waiters) tellStarters(unit string, t unitChange) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	heard := false
	for one := range w.unit[unit] {
		if one.record(t) {
			heard = true
		}
	}
	return heard
}

func (w *waiters) wakeAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, all := range w.unit {
		for one := range all {
			one.wake()
		}
	}
}

func (one *waiter) finish(job dbus.ObjectPath, result string) {
	one.mu.Lock()
	one.results[job], one.removed = result, false
	one.mu.Unlock()
	one.wake()
}

func (one *waiter) wake() {
	select {
	case one.woken <- struct{}{}:
	default:
	}
}

func (one *waiter) result(job dbus.ObjectPath) (string, bool) {
	one.mu.Lock()
	defer one.mu.Unlock()
	r, ok := one.results[job]
	return r, ok
}

// hasDropped reports whether systemd has dropped the unit after completing this systemd job.
func (one *waiter) hasDropped(job dbus.ObjectPath) bool {
	one.mu.Lock()
	defer one.mu.Unlock()
	return one.removed && one.results[job] == jobDone
}

// record records the state of the unit if the caller is starting the unit.
func (one *waiter) record(t unitChange) bool {
	one.mu.Lock()
	defer one.mu.Unlock()
	if !one.starts {
		return false
	}
	one.last = &t
	if t.active == units.ActiveDeactivating {
		one.wake()
	}
	return true
}

// lastState returns the last state of the unit that is being started, or nil. Later states are not
// kept for this caller.
func (one *waiter) lastState() *unitChange {
	one.mu.Lock()
	defer one.mu.Unlock()
	one.starts = false
	t := one.last
	one.last = nil
	return t
}

package systemd

import (
	"sync"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

// waiters are the callers that wait for something to happen to a unit. A caller
// enters before it makes its call, so that a job which ends before the call
// returns is not missed.
type waiters struct {
	mu   sync.Mutex
	unit map[string]map[*waiter]struct{}
}

// waiter is one caller. woken means that something happened: look again.
type waiter struct {
	woken chan struct{} // holds at most one token

	mu      sync.Mutex
	results map[dbus.ObjectPath]string
	removed bool  // systemd has dropped the unit since a job of it ended last
	starts  bool  // its caller starts the unit, and alone hears how it is
	last    *told // what was
}

// enter adds a caller; starts is that it starts the unit.
func (w *waiters) enter(unit string, starts bool) *waiter {
	one := &waiter{woken: make(chan struct{}, 1), results: map[dbus.ObjectPath]string{}, starts: starts}
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

// finish tells the callers at unit how a job ended, and whether there is any.
func (w *waiters) finish(unit string, job dbus.ObjectPath, result string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.unit[unit] {
		one.finish(job, result)
	}
	return len(w.unit[unit]) > 0
}

// remove tells the callers at unit that systemd has dropped it, and whether there is any.
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

// tellStarters tells those who wait for a start of unit how it is now, and reports
// whether there is any. One that is on its way down makes them look again.
func (w *waiters) tellStarters(unit string, t told) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	heard := false
	for one := range w.unit[unit] {
		if one.tell(t) {
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

// gone reports whether systemd has dropped the unit after it had done this job.
func (one *waiter) gone(job dbus.ObjectPath) bool {
	one.mu.Lock()
	defer one.mu.Unlock()
	return one.removed && one.results[job] == jobDone
}

// tell takes in how the unit is, where its start is waited for.
func (one *waiter) tell(t told) bool {
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

// begun returns what was last said of the unit that is being started, nil for nothing.
// What is said from now on is for others.
func (one *waiter) begun() *told {
	one.mu.Lock()
	defer one.mu.Unlock()
	one.starts = false
	t := one.last
	one.last = nil
	return t
}

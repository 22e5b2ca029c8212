package systemd

import (
	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

// The manager hears of everything on the bus's reader; what is not a job's unit
// ends here, and what a Start or Stop under way is waiting for: its caller reads
// the state after that anyhow. It implements listener.

func (m *Manager) jobRemoved(unit string, job dbus.ObjectPath, result string) {
	if _, ok := units.ParseName(unit); !ok {
		return
	}
	if !m.waiters.finish(unit, job, result) {
		m.changes.add(unit)
	}
}

// unitChanged tells nobody that a unit is on its way up or runs: systemd sends what
// is true at that moment and sends again after every change, so that says nothing
// to somebody who waits for an end. Of a unit that is being started its caller is told.
func (m *Manager) unitChanged(unit string, t told) {
	if _, ok := units.ParseName(unit); !ok {
		return
	}
	m.seen.Store(unit, true)
	m.lastWord(unit, t)
	if !m.waiters.tellStarters(unit, t) && t.sub != units.SubRunning && t.sub != units.SubStart {
		m.changes.add(unit)
	}
}

// unitRemoved also comes for units that run on, when systemd reloads. Who waits for the
// end of one looks again after that.
func (m *Manager) unitRemoved(unit string) {
	if _, ok := units.ParseName(unit); !ok {
		return
	}
	m.seen.Delete(unit)
	m.exited.Delete(unit)
	m.groups.Delete(unit)
	if m.reloading.Load() || !m.waiters.remove(unit) {
		m.changes.add(unit)
	}
}

func (m *Manager) reloads() { m.reloading.Store(true) }

func (m *Manager) reloaded() {
	m.reloading.Store(false)
	m.peakless.Store(false) // it may be another systemd
	m.exited.Clear()
	m.waiters.wakeAll()
	m.changes.resync()
}

package systemd

import (
	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

// The manager gets every signal in the goroutine that reads the bus. It passes a signal about a
// unit that is not a job's only to callers that wait for the end of that unit. It drops a signal
// about a unit that a Start or Stop waits for, because that caller reads the state afterwards
// anyway. The manager implements listener.

func (m *Manager) jobRemoved(unit string, job dbus.ObjectPath, result string) {
	if _, ok := units.ParseName(unit); !ok {
		m.waiters.finish(unit, job, result)
		if isContainer(unit) {
			m.wakeOpener()
		}
		return
	}
	if !m.waiters.finish(unit, job, result) {
		m.changes.add(unit)
	}
}

// unitChanged does not report that a unit is starting or running. systemd sends a unit's present
// state, and sends it again after every change, so such a state is useless to a caller that waits
// for an end. Only the caller that starts the unit gets it.
func (m *Manager) unitChanged(unit string, t unitChange) {
	if _, ok := units.ParseName(unit); !ok {
		return
	}
	m.seen.Store(unit, true)
	m.noteExited(unit, t)
	if !m.waiters.tellStarters(unit, t) && t.sub != units.SubRunning && t.sub != units.SubStart {
		m.changes.add(unit)
	}
}

// unitRemoved is also called for running units when systemd reloads. Callers that wait for an end
// then check again.
func (m *Manager) unitRemoved(unit string) {
	if _, ok := units.ParseName(unit); !ok {
		m.waiters.remove(unit)
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
	m.peakless.Store(false) // systemd may be another version now
	m.exited.Clear()
	m.waiters.wakeAll()
	m.changes.resync()
}

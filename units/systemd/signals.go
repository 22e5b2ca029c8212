package systemd

import (
	"encoding/hex"
	"strings"

	"github.com/godbus/dbus/v5"
)

// DeliverSignal handles one signal from the connection's reader. It implements dbus.SignalHandler.
// Anybody on a bus may send us a signal, whatever our match rules are. So DeliverSignal checks the
// sender (invariant 2), which the bus itself sets.
func (l *link) DeliverSignal(iface, member string, s *dbus.Signal) {
	if iface == busIface && s.Sender == busIface {
		l.busSignal(member, s.Body)
		return
	}
	if !l.alone && s.Sender != l.owner.Load() {
		return
	}
	switch {
	case iface == propertyIface && member == "PropertiesChanged":
		if name, ok := unitOfPath(s.Path); ok {
			l.to.unitChanged(name, states(s.Body))
		}
	case iface == managerIface:
		l.managerSignal(member, s.Body)
	}
}

// busSignal follows systemd to its new name on the bus after systemd was re-executed. systemd has
// then forgotten its subscribers, so busSignal subscribes again.
func (l *link) busSignal(member string, body []any) {
	var name, before, after string
	if member != "NameOwnerChanged" || dbus.Store(body, &name, &before, &after) != nil || name != destination {
		return
	}
	l.owner.Store(after)
	if after == "" {
		return
	}
	go func() { // ends with its call, or with the connection
		_ = l.subscribe(l.conn.Context()) // if it fails, systemd is gone again and will announce itself again
		l.to.reloaded()
	}()
}

func (l *link) managerSignal(member string, body []any) {
	switch member {
	case "JobRemoved":
		var id uint32
		var job dbus.ObjectPath
		var unit, result string
		if dbus.Store(body, &id, &job, &unit, &result) == nil {
			l.to.jobRemoved(unit, job, result)
		}
	case "UnitRemoved":
		var unit string
		var path dbus.ObjectPath
		if dbus.Store(body, &unit, &path) == nil {
			l.to.unitRemoved(unit)
		}
	case "Reloading":
		var active bool
		if dbus.Store(body, &active) != nil {
			return
		}
		if active {
			l.to.reloads()
		} else {
			l.to.reloaded()
		}
	}
}

// unitChange is the state of a unit according to a signal. Values that the signal leaves out are ""
// or 0.
type unitChange struct {
	active, sub, invocation string // invocation is in hexadecimal
	entered                 uint64 // when it became active, in µs of the monotonic clock
}

// states extracts a unit's state from PropertiesChanged.
func states(body []any) (t unitChange) {
	if len(body) < 2 {
		return t
	}
	changed, _ := body[1].(map[string]dbus.Variant)
	t.active, _ = changed["ActiveState"].Value().(string)
	t.sub, _ = changed["SubState"].Value().(string)
	id, _ := changed["InvocationID"].Value().([]byte)
	t.invocation = hex.EncodeToString(id)
	t.entered, _ = changed["ActiveEnterTimestampMonotonic"].Value().(uint64)
	return t
}

// unitOfPath reverses systemd's escaping of a unit's name in its object path.
func unitOfPath(path dbus.ObjectPath) (string, bool) {
	label, ok := strings.CutPrefix(string(path), unitPath+"/")
	if !ok {
		return "", false
	}
	var b strings.Builder
	for i := 0; i < len(label); i++ {
		if label[i] != '_' {
			b.WriteByte(label[i])
			continue
		}
		if i+2 >= len(label) {
			return "", false
		}
		raw, err := hex.DecodeString(label[i+1 : i+3])
		if err != nil {
			return "", false
		}
		b.Write(raw)
		i += 2
	}
	return b.String(), true
}

package systemd

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/godbus/dbus/v5"
)

// told is what a signal says of a unit's state; what it leaves out is "" or 0.
type told struct {
	active, sub, invocation string // the last in hexadecimal
	entered                 uint64 // when it became active, in µs of the monotonic clock
}

// head is the beginning of a message: its kind and the fields of its header that matter
// to us, in its memory. body is at what follows.
type head struct {
	kind                                   byte
	path, iface, member, signature, sender []byte
	body                                   reader
}

// headOf reads the beginning of a message. It is false for what is not understood.
func headOf(message []byte) (h head, ok bool) {
	if len(message) < headLength || message[0] != 'l' {
		return h, false
	}
	h.kind = message[1]
	r := reader{data: message, at: headLength}
	for end := headLength + int(binary.LittleEndian.Uint32(message[12:])); r.at < end && !r.bad; {
		r.align(8)
		number := r.byte()
		value := r.variant()
		switch number {
		case fieldPath:
			h.path = value
		case fieldInterface:
			h.iface = value
		case fieldMember:
			h.member = value
		case fieldSignature:
			h.signature = value
		case fieldSender:
			h.sender = value
		}
	}
	r.align(8)
	h.body = r
	return h, !r.bad
}

// hear tells the listener of a signal from the bytes of its message, and reports whether
// that is all that there is to do with it. godbus would take it apart by reflection and
// make a value of each of its parts, which was most of what a short job cost us. It
// checks the sender as DeliverSignal does (invariant 2).
func (l *link) hear(message []byte) bool {
	h, ok := headOf(message)
	if !ok || h.kind != typeSignal {
		return false
	}
	if owner, _ := l.owner.Load().(string); !l.alone && (owner == "" || string(h.sender) != owner) {
		return false // the bus itself, or a stranger: DeliverSignal's
	}
	r := h.body
	switch {
	case string(h.iface) == propertyIface && string(h.member) == "PropertiesChanged" && string(h.signature) == "sa{sv}as":
		name, ok := unitOfPath(dbus.ObjectPath(h.path))
		t := readTold(&r)
		if !ok || r.bad {
			return false
		}
		l.to.unitChanged(name, t)
	case string(h.iface) != managerIface:
		return false
	case string(h.member) == "JobRemoved" && string(h.signature) == "uoss":
		r.uint32()
		job, unit, result := r.text(), r.text(), r.text()
		if r.bad {
			return false
		}
		l.to.jobRemoved(string(unit), dbus.ObjectPath(job), string(result))
	case string(h.member) == "UnitRemoved" && string(h.signature) == "so":
		unit := r.text()
		if r.bad {
			return false
		}
		l.to.unitRemoved(string(unit))
	default:
		return false
	}
	return true
}

// readTold reads the body of a PropertiesChanged.
func readTold(r *reader) (t told) {
	r.text() // the interface
	end := int(r.uint32())
	r.align(8)
	for end += r.at; r.at < end && !r.bad; {
		r.align(8)
		switch name := r.text(); string(name) {
		case "ActiveState":
			t.active = string(r.variant())
		case "SubState":
			t.sub = string(r.variant())
		case "InvocationID":
			t.invocation = hex.EncodeToString(r.bytes())
		case "ActiveEnterTimestampMonotonic":
			t.entered = r.number()
		default:
			r.variant()
		}
	}
	return t
}

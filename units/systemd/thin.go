package systemd

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"

	"github.com/godbus/dbus/v5"
)

// thinned is a connection to systemd on which only what somebody reads arrives: of some
// 400 properties of a unit those that we know, and of signals those about jobs. godbus
// would decode the rest, with reflection, before anybody could say that it is not wanted,
// which was a third of the daemon's processor time for a short job. A message that is not
// understood here arrives as it is.
type thinned struct {
	net.Conn
	in    *bufio.Reader
	begun atomic.Bool               // messages follow: the handshake, which is lines of text, is over
	hear  func(message []byte) bool // takes what it can, which does not arrive then; nil: nothing
	left  []byte                    // of the message that is being read
	room  []byte                    // for messages
}

const (
	headLength = 16        // of a message, up to the fields of its header
	mostLength = 128 << 20 // of a message, by the protocol
)

var errMessageLength = errors.New("a message on the bus is longer than any may be")

func newThinned(c net.Conn, hear func([]byte) bool) *thinned {
	return &thinned{Conn: c, in: bufio.NewReaderSize(c, 32<<10), hear: hear}
}

// thinDial is dbus.Dial with a thinned connection, where the address is that of a socket.
func thinDial(address string, hear func([]byte) bool, opts ...dbus.ConnOption) (*dbus.Conn, error) {
	path, is := strings.CutPrefix(address, "unix:path=")
	if !is || strings.ContainsAny(path, ",;%") {
		return dbus.Dial(address, opts...)
	}
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	return dbus.NewConn(newThinned(c, hear), opts...)
}

// Write sees the end of the handshake, after which the other side sends messages.
func (t *thinned) Write(p []byte) (int, error) {
	if !t.begun.Load() && string(p) == "BEGIN\r\n" {
		t.begun.Store(true)
	}
	return t.Conn.Write(p)
}

func (t *thinned) Read(p []byte) (int, error) {
	if !t.begun.Load() {
		return t.in.Read(p)
	}
	for len(t.left) == 0 {
		whole, err := t.message()
		if err != nil {
			return 0, err
		}
		if t.left = thin(whole); len(t.left) > 0 && t.hear != nil && t.hear(t.left) {
			t.left = nil
		}
	}
	n := copy(p, t.left)
	t.left = t.left[n:]
	return n, nil
}

// message reads the next message, which is valid until the next call.
func (t *thinned) message() ([]byte, error) {
	head, err := t.in.Peek(headLength)
	if err != nil {
		return nil, err
	}
	var order binary.ByteOrder = binary.LittleEndian
	if head[0] == 'B' {
		order = binary.BigEndian
	}
	fields, body := uint64(order.Uint32(head[12:])), uint64(order.Uint32(head[4:]))
	length := headLength + (fields+7)&^7 + body
	if length > mostLength {
		return nil, errMessageLength
	}
	if uint64(cap(t.room)) < length {
		t.room = make([]byte, max(length, 32<<10))
	}
	whole := t.room[:length]
	_, err = io.ReadFull(t.in, whole)
	return whole, err
}

// wanted are the properties of a unit that status, origin and states read.
var wanted = func() map[string]bool {
	m := map[string]bool{}
	for name := range strings.FieldsSeq(`LoadState ActiveState SubState Result InvocationID ControlGroup MainPID ExecMainCode
		ExecMainStatus StatusText StatusErrno ActiveEnterTimestampMonotonic FreezerState Job CPUUsageNSec MemoryPeak
		ExecMainStartTimestamp ExecMainExitTimestamp ActiveExitTimestampMonotonic ExecMainExitTimestampMonotonic
		Description User Group LogExtraFields MemoryMax CPUQuotaPerSecUSec
		RuntimeMaxUSec TimeoutStopUSec ExecStart ExecStartPost ExecStop ExecStopPost DropInPaths Delegate`) {
		m[name] = true
	}
	return m
}()

// What begins the paths and the names of jobs' units.
var (
	jobPaths = []byte(unitPath + "/gpujob_2d")
	jobNames = []byte("gpujob-")
)

// The types of messages, and the numbers of the fields of their headers.
const (
	typeReply  = 2
	typeSignal = 4

	fieldPath      = 1
	fieldInterface = 2
	fieldMember    = 3
	fieldSender    = 7
	fieldSignature = 8
)

// thin returns of a message what somebody reads, in its memory; nothing where that is
// nothing.
func thin(message []byte) []byte {
	h, ok := headOf(message)
	switch {
	case !ok || h.kind != typeReply && h.kind != typeSignal:
	case h.kind == typeReply && string(h.signature) == "a{sv}":
		return thinProperties(message, h.body, false)
	case h.kind == typeReply:
	case string(h.member) == "PropertiesChanged":
		if !bytes.HasPrefix(h.path, jobPaths) {
			return nil
		}
		if string(h.signature) == "sa{sv}as" {
			return thinProperties(message, h.body, true)
		}
	case string(h.member) == "JobRemoved", string(h.member) == "UnitRemoved":
		if !bytes.Contains(message[h.body.at:], jobNames) {
			return nil
		}
	}
	return message
}

// thinProperties leaves of the properties in a message those that are wanted. r is at its
// body, in which they come after a string and before the names of others where named.
func thinProperties(message []byte, r reader, named bool) []byte {
	body := r.at
	if named {
		r.text()
	}
	r.align(4)
	size := r.at // where their length is
	end := int(r.uint32())
	r.align(8)
	first := r.at
	end += first
	var kept [64][2]int
	n := 0
	for r.at < end && !r.bad && n < len(kept) {
		r.align(8)
		from := r.at
		if name := r.text(); wanted[string(name)] {
			kept[n][0] = from
			r.variant()
			kept[n][1] = r.at
			n++
			continue
		}
		r.variant()
	}
	if r.at != end {
		return message
	}
	if named {
		r.align(4) // of the names that follow
	}
	if r.bad {
		return message
	}
	out := first
	for _, k := range kept[:n] {
		for ; out%8 != 0; out++ {
			message[out] = 0
		}
		out += copy(message[out:], message[k[0]:k[1]])
	}
	binary.LittleEndian.PutUint32(message[size:], uint32(out-first))
	if named {
		for ; out%4 != 0; out++ {
			message[out] = 0
		}
		out += copy(message[out:], message[r.at:])
	}
	binary.LittleEndian.PutUint32(message[4:], uint32(out-body))
	return message[:out]
}

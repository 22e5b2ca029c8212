package systemd

import (
	"bufio"
	"context"
	"encoding/binary"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

// The names on the fake bus.
const (
	systemdName = ":1.1"
	strangeName = ":1.66"
)

// fakeBus is a bus with a systemd on it. The test supplies the answers of that systemd. The bus
// speaks the real protocol over pipes, so synctest can drive it.
type fakeBus struct {
	t      *testing.T
	answer func(method string, args []any) ([]any, *dbus.Error)
	last   string        // Options.Last
	nudged chan struct{} // nil: it is a bus; otherwise it is a systemd that answers after a Ping, see setUpAlone

	mu      sync.Mutex
	lingers int  // how often the bus says that an earlier connection still exists
	owed    int  // number of answers that the bus owes
	down    bool // new connections are refused
	conns   []net.Conn
	calls   []string
}

// newFakeBus starts a bus. The bus calls the function answer for every call of a method of systemd,
// and with the method "GetAll" for reads of properties. If the function returns nil values and a
// nil error, the reply is empty; after errNoReply there is no reply. Like dbus-daemon, the bus
// refuses all calls while it owes mostOwed answers.
func newFakeBus(t *testing.T, answer func(method string, args []any) ([]any, *dbus.Error)) *fakeBus {
	b := &fakeBus{t: t, answer: answer}
	t.Cleanup(b.cut)
	return b
}

var errNoReply = &dbus.Error{Name: "none"}

const mostOwed = 128 // maximum of answers owed to one connection, by dbus-daemon's settings

// owe adds n to the answers owed, and reports whether that is allowed.
func (b *fakeBus) owe(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.owed += n
	return b.owed <= mostOwed
}

func noSuchUnit() *dbus.Error { return &dbus.Error{Name: errNoSuchUnit, Body: []any{"not loaded"}} }

// manager connects a manager to the bus.
func (b *fakeBus) manager() *Manager {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	m, err := Connect(ctx, Options{Last: b.last, dial: b.dial})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(m.Close)
	m.tidy.dir = b.t.TempDir()
	return m
}

func (b *fakeBus) dial(_ string, opts ...dbus.ConnOption) (*dbus.Conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return nil, net.ErrClosed
	}
	client, server := net.Pipe()
	b.conns = append(b.conns, server)
	go b.serve(server) // ends with the connection
	return dbus.NewConn(client, opts...)
}

// cut breaks every connection.
func (b *fakeBus) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.conns {
		c.Close()
	}
	b.conns = nil
}

func (b *fakeBus) setDown(down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = down
}

func (b *fakeBus) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	if !authenticate(in, c) {
		return
	}
	for {
		msg, err := dbus.DecodeMessage(in)
		if err != nil {
			return
		}
		if msg.Flags&dbus.FlagNoReplyExpected != 0 {
			b.reply(c, msg) // before what follows
		} else {
			go b.reply(c, msg) // ends with its answer, which may be slow
		}
	}
}

func authenticate(in *bufio.Reader, c net.Conn) bool {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return false
		}
		switch line = strings.Trim(line, "\x00\r\n"); {
		case line == "AUTH":
			_, err = c.Write([]byte("REJECTED EXTERNAL\r\n"))
		case strings.HasPrefix(line, "AUTH "), strings.HasPrefix(line, "DATA"):
			_, err = c.Write([]byte("OK 1234\r\n"))
		case line == "BEGIN":
			return true
		default:
			_, err = c.Write([]byte("ERROR\r\n"))
		}
		if err != nil {
			return false
		}
	}
}

func (b *fakeBus) reply(c net.Conn, msg *dbus.Message) {
	method, _ := msg.Headers[dbus.FieldMember].Value().(string)
	b.note(method)
	var values []any
	var failure *dbus.Error
	awaited := msg.Flags&dbus.FlagNoReplyExpected == 0
	if awaited && !b.owe(1) {
		method = "too many"
	}
	switch method {
	case "too many":
		failure = &dbus.Error{Name: "org.freedesktop.DBus.Error.LimitsExceeded", Body: []any{"too many answers are owed"}}
	case "Ping":
		close(b.nudged)
		return
	case "Hello":
		values = []any{":1.9"}
	case "GetId":
		values = []any{"bus"}
	case "NameHasOwner":
		b.mu.Lock()
		values = []any{b.lingers > 0}
		b.lingers--
		b.mu.Unlock()
	case "AddMatch", "Ref":
	case "GetNameOwner":
		values = []any{systemdName}
	default:
		if b.nudged != nil && method == "Subscribe" {
			<-b.nudged
		}
		if method != "Subscribe" {
			values, failure = b.answer(method, msg.Body)
		}
	}
	if failure == errNoReply || !awaited {
		return
	}
	b.owe(-1)
	out := &dbus.Message{Type: dbus.TypeMethodReply, Headers: map[dbus.HeaderField]dbus.Variant{dbus.FieldReplySerial: dbus.MakeVariant(msg.Serial())}, Body: values}
	if failure != nil {
		out.Type, out.Body = dbus.TypeError, failure.Body
		out.Headers[dbus.FieldErrorName] = dbus.MakeVariant(failure.Name)
	}
	b.write(c, out)
}

func (b *fakeBus) write(c net.Conn, msg *dbus.Message) {
	if len(msg.Body) > 0 {
		msg.Headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(msg.Body...))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = msg.EncodeTo(c, binary.LittleEndian) // the connection may be cut by now
}

// emit sends a signal on every connection.
func (b *fakeBus) emit(sender, path, iface, member string, body ...any) {
	b.mu.Lock()
	conns := b.conns
	b.mu.Unlock()
	for _, c := range conns {
		b.write(c, &dbus.Message{Type: dbus.TypeSignal, Body: body, Headers: map[dbus.HeaderField]dbus.Variant{
			dbus.FieldSender: dbus.MakeVariant(sender), dbus.FieldPath: dbus.MakeVariant(dbus.ObjectPath(path)),
			dbus.FieldInterface: dbus.MakeVariant(iface), dbus.FieldMember: dbus.MakeVariant(member),
		}})
	}
}

func (b *fakeBus) jobRemoved(sender, unit string, job int, result string) {
	b.emit(sender, managerPath, managerIface, "JobRemoved", uint32(job), jobPath(job), unit, result)
}

func (b *fakeBus) unitChanged(sender, unit, sub string) {
	b.emit(sender, string(objectPath(unit)), propertyIface, "PropertiesChanged",
		unitIface, map[string]dbus.Variant{"SubState": dbus.MakeVariant(sub)}, []string{})
}

func jobPath(job int) dbus.ObjectPath {
	return dbus.ObjectPath("/org/freedesktop/systemd1/job/" + strconv.Itoa(job))
}

func (b *fakeBus) note(method string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, method)
}

// countCalls counts the calls of one method.
func (b *fakeBus) countCalls(method string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, c := range b.calls {
		if c == method {
			n++
		}
	}
	return n
}

// loadedUnit returns the answer of GetAll for a unit in this state.
func loadedUnit(active, sub string, more map[string]any) []any {
	props := map[string]dbus.Variant{
		"LoadState": dbus.MakeVariant(units.LoadLoaded), "ActiveState": dbus.MakeVariant(active), "SubState": dbus.MakeVariant(sub),
		"ActiveEnterTimestampMonotonic": dbus.MakeVariant(uint64(1)), "InvocationID": dbus.MakeVariant([]byte{0xab, 0xcd}),
	}
	for name, v := range more {
		props[name] = dbus.MakeVariant(v)
	}
	return []any{props}
}

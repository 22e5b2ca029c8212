package systemd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	destination   = "org.freedesktop.systemd1"
	managerPath   = "/org/freedesktop/systemd1"
	unitPath      = "/org/freedesktop/systemd1/unit"
	managerIface  = "org.freedesktop.systemd1.Manager"
	unitIface     = "org.freedesktop.systemd1.Unit"
	serviceIface  = "org.freedesktop.systemd1.Service"
	propertyIface = "org.freedesktop.DBus.Properties"
	busIface      = "org.freedesktop.DBus"
)

// listener gets what arrives on a link, in systemd's order, in the goroutine that reads the
// connection. It must not block.
type listener interface {
	jobRemoved(unit string, job dbus.ObjectPath, result string)
	unitRemoved(unit string)
	unitChanged(unit string, t unitChange)
	reloads() // systemd has begun to reload
	reloaded()
}

// A link is one connection to systemd.
type link struct {
	conn    *dbus.Conn
	owner   atomic.Value // string: systemd's unique name on the bus
	alone   bool         // the other end is systemd itself, not a bus
	to      listener
	calls   chan struct{} // holds a value for each call under way
	batches chan struct{} // the same for each call of readConcurrently
}

// callsAtOnce limits the number of our calls under way. A bus owes one connection at most 128
// answers (max_replies_per_connection), and a thousand jobs may be stopped at once.
const (
	callsAtOnce   = 64
	batchesAtOnce = 12 // of at most five calls each
)

// dialer opens the connection; tests replace it.
type dialer func(address string, opts ...dbus.ConnOption) (*dbus.Conn, error)

// dialSocket is dbus.Dial without file descriptors. Anybody on a bus may send some with a signal,
// and nobody here would close them.
func dialSocket(address string, opts ...dbus.ConnOption) (*dbus.Conn, error) {
	path, is := strings.CutPrefix(address, "unix:path=")
	if !is || strings.ContainsAny(path, ",;%") {
		return dbus.Dial(address, opts...)
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		return nil, err
	}
	return dbus.NewConn(bufferedConn{bufio.NewReaderSize(c, 32<<10), c}, opts...)
}

// A bufferedConn is a connection that reads several messages at a time.
type bufferedConn struct {
	io.Reader
	io.WriteCloser
}

// dialLink connects, watches systemd's signals and subscribes to them.
func dialLink(ctx context.Context, dial dialer, address, last string, alone bool, to listener) (*link, error) {
	l := &link{alone: alone, to: to, calls: make(chan struct{}, callsAtOnce), batches: make(chan struct{}, batchesAtOnce)}
	l.owner.Store("")
	conn, err := dial(address, dbus.WithSignalHandler(l))
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	l.conn = conn
	stop := context.AfterFunc(ctx, func() { conn.Close() }) // because the handshake takes no context
	err = l.setUp(ctx, last)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return l, nil
}

func (l *link) setUp(ctx context.Context, last string) error {
	if err := l.conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Geteuid()))}); err != nil {
		return fmt.Errorf("authentication: %w", err)
	}
	if l.alone {
		return l.setUpAlone(ctx)
	}
	if err := l.conn.Hello(); err != nil {
		return fmt.Errorf("hello: %w", err)
	}
	if err := l.succeed(ctx, last); err != nil {
		return fmt.Errorf("waiting for the bus to close the connection of the scheduler before this one: %w", err)
	}
	for _, match := range matches() {
		if err := l.conn.AddMatchSignalContext(ctx, match...); err != nil {
			return fmt.Errorf("match rule: %w", err)
		}
	}
	var owner string
	if err := l.conn.BusObject().CallWithContext(ctx, busIface+".GetNameOwner", 0, destination).Store(&owner); err != nil {
		return fmt.Errorf("systemd on the bus: %w", err)
	}
	l.owner.CompareAndSwap("", owner) // a newer owner may have been announced meanwhile
	if err := l.subscribe(ctx); err != nil {
		return fmt.Errorf("subscription: %w", err)
	}
	return nil
}

// subscribe makes systemd send its signals, and keep Docker's unit loaded. When a unit stops that
// nothing refers to, such as a docker.service that is not enabled, systemd forgets its times.
func (l *link) subscribe(ctx context.Context) error {
	_ = l.call(ctx, objectPath(dockerUnit), unitIface+".Ref").Err // only endedBetween needs it
	return l.manager(ctx, "Subscribe").Err
}

// nudgeEvery is the time between messages to a systemd without a bus, until the systemd answers.
const nudgeEvery = 20 * time.Millisecond

// setUpAlone is setUp for a connection to systemd itself, which sends only what we subscribed to.
// If a first call arrives together with the end of the authentication, systemd does not read it
// until more arrives. So setUpAlone sends more.
func (l *link) setUpAlone(ctx context.Context) error {
	subscribed := make(chan *dbus.Call, 1)
	systemd := l.conn.Object(destination, managerPath)
	systemd.GoWithContext(ctx, managerIface+".Subscribe", 0, subscribed)
	nudges := time.NewTicker(nudgeEvery)
	defer nudges.Stop()
	for {
		select {
		case call := <-subscribed:
			if call.Err != nil {
				return fmt.Errorf("subscription: %w", call.Err)
			}
			return nil
		case <-nudges.C:
			systemd.Go("org.freedesktop.DBus.Peer.Ping", dbus.FlagNoReplyExpected, nil)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// matches returns the signals that we receive. A unit has two interfaces, and the signals of one of
// them suffice: systemd announces both at once.
func matches() [][]dbus.MatchOption {
	fromManager := func(member string) []dbus.MatchOption {
		return []dbus.MatchOption{dbus.WithMatchSender(destination), dbus.WithMatchInterface(managerIface),
			dbus.WithMatchMember(member)}
	}
	return [][]dbus.MatchOption{
		{dbus.WithMatchSender(busIface), dbus.WithMatchInterface(busIface), dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, destination)},
		fromManager("JobRemoved"),
		fromManager("UnitRemoved"),
		fromManager("Reloading"),
		{dbus.WithMatchSender(destination), dbus.WithMatchInterface(propertyIface), dbus.WithMatchMember("PropertiesChanged"),
			dbus.WithMatchPathNamespace(unitPath), dbus.WithMatchArg(0, unitIface)},
	}
}

// manager calls a method of systemd's manager object.
func (l *link) manager(ctx context.Context, method string, args ...any) *dbus.Call {
	return l.call(ctx, managerPath, managerIface+"."+method, args...)
}

// call calls a method of an object of systemd. It first waits until fewer than callsAtOnce other
// calls are under way.
func (l *link) call(ctx context.Context, path dbus.ObjectPath, method string, args ...any) *dbus.Call {
	select {
	case l.calls <- struct{}{}:
	case <-ctx.Done():
		return &dbus.Call{Err: ctx.Err()}
	}
	defer func() { <-l.calls }()
	return l.conn.Object(destination, path).CallWithContext(ctx, method, 0, args...)
}

// callWithoutReply calls a method without requesting an answer, because a bus limits the answers
// that it owes us.
func (l *link) callWithoutReply(ctx context.Context, method string, args ...any) error {
	systemd := l.conn.Object(destination, managerPath)
	return systemd.GoWithContext(ctx, managerIface+"."+method, dbus.FlagNoReplyExpected, nil, args...).Err
}

// properties reads some properties of an object, one by one.
func (l *link) properties(ctx context.Context, path dbus.ObjectPath, iface string, names ...string) (properties,
	error) {
	p := properties{}
	for _, name := range names {
		var v dbus.Variant
		if err := l.call(ctx, path, propertyIface+".Get", iface, name).Store(&v); err != nil {
			return nil, err
		}
		p[name] = v
	}
	return p, nil
}

func (l *link) closed() <-chan struct{} { return l.conn.Context().Done() }

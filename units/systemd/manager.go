package systemd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpusched/gpusched/units"
)

// DefaultAddress is the system bus. PID 1's private socket is not used: the
// first call on it may hang, and it closes when systemd is executed anew.
const DefaultAddress = "unix:path=/run/dbus/system_bus_socket"

// Options say where systemd is.
type Options struct {
	Address string // of the bus; "" is DefaultAddress
	// User is that the address is the private socket of a user's own systemd, which is
	// there with it, while a bus of the user's need not be.
	User bool
	// Last is the file that names the connection which was used last; "": none does. The calls of that one, also
	// where the daemon that made them has died, come before all that are made here.
	Last string

	dial dialer // nil is dialSocket
}

// Manager talks to systemd. Its methods may be called by any number of
// goroutines at once.
type Manager struct {
	address string
	user    bool
	last    string
	dialBus dialer
	changes *changes
	waiters *waiters
	compat  *compat
	tidy    *tidy

	// seen are the units that systemd was last known to have. It only saves work: a
	// unit in it is asked about directly, any other one is looked up first, because
	// asking systemd about a unit that it does not have makes it load and drop an
	// empty one, and that sends the same signals as a real change.
	seen sync.Map

	// These only save work, too: the last signals of units that ended well, and the
	// control groups of those that were started here.
	exited, groups sync.Map

	peakless  atomic.Bool // this systemd has no MemoryPeak
	reloading atomic.Bool // it has said that it reloads, and not yet that it has

	stop context.CancelFunc // ends the goroutines of the manager
	done sync.WaitGroup

	mu      sync.Mutex // guards what follows
	link    *link      // nil while the bus is away
	since   time.Time  // of the present state of link
	lastErr error      // why the bus went away or cannot be reached
}

// Connect reaches systemd, trying until ctx ends, and returns a manager that
// keeps itself connected from then on.
func Connect(ctx context.Context, o Options) (*Manager, error) {
	m := &Manager{
		address: cmp.Or(o.Address, DefaultAddress), user: o.User, last: o.Last, dialBus: o.dial,
		changes: newChanges(), waiters: &waiters{unit: map[string]map[*waiter]struct{}{}}, compat: &compat{},
		tidy: &tidy{dir: fieldsDir, since: map[string]time.Time{}}, since: time.Now(),
	}
	if m.dialBus == nil {
		m.dialBus = dialSocket
	}
	if o.User {
		m.tidy.dir = "" // it leaves none of these files behind
	}
	running, stop := context.WithCancel(context.Background())
	m.stop = stop
	up := make(chan struct{}, 1)
	m.done.Go(func() { m.changes.pump(running) })
	m.done.Go(func() { m.keepConnected(running, up) })
	select {
	case <-up:
		return m, nil
	case <-ctx.Done():
		_, _, last := m.Connected()
		m.Close()
		return nil, fmt.Errorf("connect to systemd at %q: %w", m.address, errors.Join(ctx.Err(), last))
	}
}

// Close ends the connection and closes the channel of Changes. Calls under way
// return units.ErrBus.
func (m *Manager) Close() {
	m.stop()
	m.done.Wait()
}

// Connected reports whether the bus is there, since when it is or is not, and
// the last reason for which it was not.
func (m *Manager) Connected() (ok bool, since time.Time, lastErr error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.link != nil, m.since, m.lastErr
}

// Version asks systemd for its version, so it also reports whether that answers: a
// bus that hangs is connected all the same.
func (m *Manager) Version(ctx context.Context) (string, error) {
	l, err := m.current()
	if err != nil {
		return "", err
	}
	p, err := l.properties(ctx, managerPath, managerIface, "Version")
	if err != nil {
		return "", fmt.Errorf("ask systemd for its version: %w", err)
	}
	return get[string](p, "Version"), nil
}

// Changes returns the channel of hints that a unit may have changed. There is
// one channel, for one reader; Close closes it.
func (m *Manager) Changes() <-chan units.Change { return m.changes.out }

// Degraded names the properties that this systemd does not know and that units
// are therefore started without.
func (m *Manager) Degraded() []string { return m.compat.degraded() }

// current returns the connection, or units.ErrBus and why there is none.
func (m *Manager) current() (*link, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.link == nil {
		return nil, fmt.Errorf("%w: %w", units.ErrBus, m.away())
	}
	return m.link, nil
}

var errConnecting = errors.New("still connecting")

func (m *Manager) away() error {
	if m.lastErr == nil {
		return errConnecting
	}
	return m.lastErr
}

func (m *Manager) setLink(l *link, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if (l != nil) != (m.link != nil) {
		m.since = time.Now()
	}
	m.link = l
	if err != nil {
		m.lastErr = err
	}
}

// linkFor returns the connection for a call about the unit name, which must be a
// job's (invariant 1).
func (m *Manager) linkFor(what, name string) (*link, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	l, err := m.current()
	if err != nil {
		return nil, fmt.Errorf("%s unit %q: %w", what, name, err)
	}
	return l, nil
}

// checkName refuses what is not a job's unit.
func checkName(name string) error {
	if _, ok := units.ParseName(name); !ok {
		return fmt.Errorf("%q is not the unit of a job", name)
	}
	return nil
}

package systemd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/units"
)

// DefaultAddress is the system bus. PID 1's private socket is not used: the first call on that
// socket may hang, and the socket closes when systemd is re-executed.
const DefaultAddress = "unix:path=/run/dbus/system_bus_socket"

// Options say how to reach systemd.
type Options struct {
	Address string // of the bus; "": DefaultAddress
	// User means that the address is the private socket of a user's own systemd. Such a systemd
	// always has that socket, but the user may have no bus.
	User bool
	// Last is the file that names the last connection of this kind; "": none. systemd gets the
	// calls of that connection before all calls made here, even if the daemon that had the
	// connection has died.
	Last string

	dial dialer // nil: dialSocket
}

// Manager talks to systemd. Any number of goroutines may call its methods at once.
type Manager struct {
	address string
	user    bool
	last    string
	dialBus dialer
	changes *changes
	waiters *waiters
	compat  *compat
	tidy    *tidy
	slices  jobSlices
	making  sync.Mutex // held while a unit is started that may be made together with the unit that it requires
	root    string     // mount point of the control groups, for what is read about slices

	containers chan struct{} // holds a token while openContainers must look for containers

	// seen has the units that systemd has, as far as we know. It only saves work: a unit in seen is
	// read directly, any other unit is looked up first. If a unit does not exist, reading it makes
	// systemd load and drop an empty unit, which sends the same signals as a real change.
	seen sync.Map

	// These maps also only save work. The map exited has the last signals of units that ended well.
	// The map groups has the control groups of units that this manager started.
	exited, groups sync.Map

	peakless  atomic.Bool // this systemd has no MemoryPeak
	reloading atomic.Bool // systemd has begun to reload and has not finished

	stop context.CancelFunc // ends the manager's goroutines
	done sync.WaitGroup

	mu      sync.Mutex // guards what follows
	link    *link      // nil while the bus is away
	since   time.Time  // time at which the present state of link began
	lastErr error      // why the bus went away or can't be reached
}

// Connect connects to systemd, and tries until it succeeds or ctx ends. From then on the manager
// keeps itself connected.
func Connect(ctx context.Context, o Options) (*Manager, error) {
	m := &Manager{
		address: cmp.Or(o.Address, DefaultAddress), user: o.User, last: o.Last, dialBus: o.dial,
		changes: newChanges(), waiters: &waiters{unit: map[string]map[*waiter]struct{}{}}, compat: &compat{},
		tidy: &tidy{dir: fieldsDir, since: map[string]time.Time{}}, since: time.Now(),
	}
	m.containers, m.root = make(chan struct{}, 1), cgroup.Root
	if m.dialBus == nil {
		m.dialBus = dialSocket
	}
	if o.User {
		m.tidy.dir = "" // a user's own systemd leaves no such files behind
	}
	running, stop := context.WithCancel(context.Background())
	m.stop = stop
	up := make(chan struct{}, 1)
	m.done.Go(func() { m.changes.pump(running) })
	m.done.Go(func() { m.openContainers(running) })
	m.done.Go(func() { m.keepConnected(running, up) })
	select {
	case <-up:
		return m, nil
	case <-ctx.Done():
		_, _, last := m.Connected()
		m.Close()
		return nil, fmt.Errorf("connect to systemd at %q: %w: %w", m.address, units.ErrBus, cmp.Or(last, ctx.Err()))
	}
}

// Close ends the connection and closes the channel of Changes. Calls under way return units.ErrBus.
func (m *Manager) Close() {
	m.stop()
	m.done.Wait()
}

// Connected reports whether the bus is connected, since when, and the last error.
func (m *Manager) Connected() (ok bool, since time.Time, lastErr error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.link != nil, m.since, m.lastErr
}

// Version asks systemd for its version. The call also shows whether systemd answers: a bus may hang
// and still be connected.
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

// Changes returns the channel of hints that a unit may have changed. All calls return the same
// channel, which has one reader; Close closes it.
func (m *Manager) Changes() <-chan units.Change { return m.changes.out }

// Degraded returns the properties that this systemd does not know. Units are started without them.
func (m *Manager) Degraded() []string { return m.compat.degraded() }

// current returns the connection, or units.ErrBus and the reason why there is none.
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

// linkFor returns the connection for a call about the named unit, which must be a job's (invariant
// 1).
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

// checkName refuses a name that is not a job's unit.
func checkName(name string) error {
	if _, ok := units.ParseName(name); !ok {
		return fmt.Errorf("%q is not the unit of a job", name)
	}
	return nil
}

package systemd

import (
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Notifier tells the service manager how the daemon itself is. Where there is
// none (a start by hand), it does nothing. The daemon's own NOTIFY_SOCKET stays
// in its environment: whoever starts a child takes it out.
//
// A manager that reads nothing holds nobody up: what finds the one before it on
// its way for longer than notifyTime is left out.
type Notifier struct {
	interval time.Duration
	way      chan struct{} // holds a token while nothing is on its way

	mu  sync.Mutex
	err error
}

// notifyTime is how long a notification may take.
const notifyTime = time.Second

var errUnread = errors.New("the service manager does not read its notifications")

// NewNotifier reads what the service manager wants. It is called once, before
// any child is started.
func NewNotifier() *Notifier {
	interval, err := daemon.SdWatchdogEnabled(true)
	n := &Notifier{interval: interval, err: err, way: make(chan struct{}, 1)}
	n.way <- struct{}{}
	return n
}

// WatchdogInterval is the time within which Alive must be called again and
// again; 0 means never.
func (n *Notifier) WatchdogInterval() time.Duration { return n.interval }

// Ready says that the daemon serves, for the first time or again after
// Reloading.
func (n *Notifier) Ready() { n.send(daemon.SdNotifyReady) }

// Reloading says that the configuration is being read again.
func (n *Notifier) Reloading() {
	n.send(daemon.SdNotifyReloading + "\n" + daemon.SdNotifyMonotonicUsec())
}

// Stopping says that the daemon is on its way down.
func (n *Notifier) Stopping() { n.send(daemon.SdNotifyStopping) }

// Alive feeds the watchdog.
func (n *Notifier) Alive() {
	if n.interval > 0 {
		n.send(daemon.SdNotifyWatchdog)
	}
}

// Status sets the line that systemctl status shows.
func (n *Notifier) Status(text string) {
	n.send("STATUS=" + strings.NewReplacer("\n", " ", "\x00", " ").Replace(text))
}

// Err returns what went wrong with the last notification, nil where it went out.
func (n *Notifier) Err() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.err
}

func (n *Notifier) send(state string) {
	patience := time.NewTimer(notifyTime)
	defer patience.Stop()
	select {
	case <-n.way:
	default:
		n.note(errUnread) // it was waited for already
		return
	}
	sent := make(chan error, 1)
	go func() { // ends when the manager reads
		_, err := daemon.SdNotify(false, state)
		n.way <- struct{}{}
		sent <- err
	}()
	select {
	case err := <-sent:
		n.note(err)
	case <-patience.C:
		n.note(errUnread)
	}
}

func (n *Notifier) note(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.err = err
}

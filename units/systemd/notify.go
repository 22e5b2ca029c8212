package systemd

import (
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Notifier tells the service manager how the daemon itself is. Where there is
// none (a start by hand), it does nothing. The daemon's own NOTIFY_SOCKET stays
// in its environment: whoever starts a child takes it out.
type Notifier struct {
	interval time.Duration

	mu  sync.Mutex
	err error
}

// NewNotifier reads what the service manager wants. It is called once, before
// any child is started.
func NewNotifier() *Notifier {
	interval, err := daemon.SdWatchdogEnabled(true)
	return &Notifier{interval: interval, err: err}
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

// Err returns the last error of a notification; nil while all went out.
func (n *Notifier) Err() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.err
}

func (n *Notifier) send(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		n.mu.Lock()
		n.err = err
		n.mu.Unlock()
	}
}

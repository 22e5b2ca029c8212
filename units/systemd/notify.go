package systemd

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Notifier tells the service manager how the daemon itself is. Where there is
// none (a start by hand), it does nothing. The daemon's own NOTIFY_SOCKET stays
// in its environment: whoever starts a child takes it out.
//
// A manager that reads nothing holds nobody up for longer than notifyTime, and
// what feeds the watchdog or says how things are is left out then.
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
func (n *Notifier) Ready() { n.send(daemon.SdNotifyReady, notifyTime) }

// ReadyBut is Ready of a daemon that answers, and says why it can do no more.
func (n *Notifier) ReadyBut(why string) {
	n.send(daemon.SdNotifyReady+"\nSTATUS="+oneLine(why), notifyTime)
}

// Reloading says that the configuration is being read again.
func (n *Notifier) Reloading() {
	n.send(daemon.SdNotifyReloading+"\n"+daemon.SdNotifyMonotonicUsec(), notifyTime)
}

// Stopping says that the daemon is on its way down.
func (n *Notifier) Stopping() { n.send(daemon.SdNotifyStopping, notifyTime) }

// Alive feeds the watchdog.
func (n *Notifier) Alive() {
	if n.interval > 0 {
		n.send(daemon.SdNotifyWatchdog, 0)
	}
}

// Status sets the line that systemctl status shows.
func (n *Notifier) Status(text string) {
	n.send("STATUS="+oneLine(text), 0)
}

// Extend has the manager wait so much longer for Ready, from now on, and says what for.
func (n *Notifier) Extend(by time.Duration, text string) {
	n.send(fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d\nSTATUS=%s", by.Microseconds(), oneLine(text)), 0)
}

// oneLine keeps a text from being another notification.
func oneLine(text string) string { return strings.NewReplacer("\n", " ", "\x00", " ").Replace(text) }

// Err returns what went wrong with the last notification, nil where it went out.
func (n *Notifier) Err() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.err
}

// send sends behind what is on its way, for which it waits for at most behind:
// what will be sent again need not.
func (n *Notifier) send(state string, behind time.Duration) {
	patience := time.NewTimer(notifyTime)
	defer patience.Stop()
	if !n.clear(behind) {
		n.note(errUnread)
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

// clear reports whether nothing is on its way any more; then the token is taken.
func (n *Notifier) clear(within time.Duration) bool {
	select {
	case <-n.way:
		return true
	default:
	}
	patience := time.NewTimer(within)
	defer patience.Stop()
	select {
	case <-n.way:
		return true
	case <-patience.C:
		return false
	}
}

func (n *Notifier) note(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.err = err
}

package systemd

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Notifier reports the state of the daemon itself to the service manager. Without a manager (after
// a start by hand) it does nothing. NOTIFY_SOCKET stays in the daemon's own environment; code that
// starts a child removes the variable from the child's environment.
//
// A manager that does not read delays nobody longer than notifyTime. Watchdog and status messages
// are then dropped.
type Notifier struct {
	interval time.Duration
	way      chan struct{} // holds a token while no message is under way

	mu  sync.Mutex
	err error
}

// notifyTime limits the time of one notification.
const notifyTime = time.Second

var errUnread = errors.New("the service manager does not read its notifications")

// NewNotifier reads the service manager's settings for this service. It must be called once, before
// any child is started.
func NewNotifier() *Notifier {
	interval, err := daemon.SdWatchdogEnabled(true)
	n := &Notifier{interval: interval, err: err, way: make(chan struct{}, 1)}
	n.way <- struct{}{}
	return n
}

// WatchdogInterval returns the time within which Alive must be called again; 0 means that it need
// not be called.
func (n *Notifier) WatchdogInterval() time.Duration { return n.interval }

// Ready reports that the daemon serves, for the first time or again after Reloading.
func (n *Notifier) Ready() { n.send(daemon.SdNotifyReady, notifyTime) }

// ReadyBut is Ready for a daemon that answers but can't do more. The argument reason says why.
func (n *Notifier) ReadyBut(reason string) {
	n.send(daemon.SdNotifyReady+"\nSTATUS="+oneLine(reason), notifyTime)
}

// Reloading reports that the configuration is being read again.
func (n *Notifier) Reloading() {
	n.send(daemon.SdNotifyReloading+"\n"+daemon.SdNotifyMonotonicUsec(), notifyTime)
}

// Stopping reports that the daemon is stopping.
func (n *Notifier) Stopping() { n.send(daemon.SdNotifyStopping, notifyTime) }

// Alive resets the watchdog.
func (n *Notifier) Alive() {
	if n.interval > 0 {
		n.send(daemon.SdNotifyWatchdog, 0)
	}
}

// Status sets the line that systemctl status shows.
func (n *Notifier) Status(text string) {
	n.send("STATUS="+oneLine(text), 0)
}

// Extend makes the manager wait this much longer for Ready, from now on. The argument text is the
// reason.
func (n *Notifier) Extend(by time.Duration, text string) {
	n.send(fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d\nSTATUS=%s", by.Microseconds(), oneLine(text)), 0)
}

// oneLine prevents a text from containing another notification.
func oneLine(text string) string { return strings.NewReplacer("\n", " ", "\x00", " ").Replace(text) }

// Err returns the error of the last notification, nil if it was sent.
func (n *Notifier) Err() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.err
}

// send sends a message to the service manager once no other message is under way. If another
// message is still under way after maxWait, the new message is dropped. Messages that will be
// repeated do not wait: for these, maxWait is 0.
func (n *Notifier) send(state string, maxWait time.Duration) {
	patience := time.NewTimer(notifyTime)
	defer patience.Stop()
	if !n.takeToken(maxWait) {
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

// takeToken waits until no message is under way, takes the token and returns true. It returns false
// if no token is free within maxWait.
func (n *Notifier) takeToken(maxWait time.Duration) bool {
	select {
	case <-n.way:
		return true
	default:
	}
	patience := time.NewTimer(maxWait)
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

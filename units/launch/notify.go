package launch

import (
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// notifier speaks to the service manager by its datagram socket. Without one,
// or when it does not listen, nothing is said: the exit status remains.
type notifier struct {
	fd   int
	addr unix.SockaddrUnix
	said bool // something, by which the unit's status line is ours
}

const notifySocket = "NOTIFY_SOCKET"

// silence is the last word before the command begins: a service manager from 254
// on believes nothing any more that the process says. With a voice of its own a
// command could put off its end (EXTEND_TIMEOUT_USEC), and with that a shutdown.
// Messages are read in the order in which they were sent.
const silence = "NOTIFYACCESS=none"

// begun says that the launcher was there, where nothing has said so yet: what comes in
// its place may end with any status, also with those that systemd keeps for itself. It
// is put before what else there is to say, as each message is work for the service
// manager and wakes all who watch the unit.
func (r *run) begun(more string) {
	if r.stage == first && !r.notify.said {
		more = strings.TrimSuffix("STATUS="+contract.StatusBegun+"\n"+more, "\n")
	}
	if more != "" {
		r.notify.send(more)
	}
}

// newNotifier looks for the socket's address in the unit's environment.
func newNotifier(environ []string) notifier {
	n := notifier{fd: -1}
	for _, kv := range environ {
		if path, ok := strings.CutPrefix(kv, notifySocket+"="); ok {
			n.addr.Name = path
		}
	}
	if n.addr.Name == "" || (n.addr.Name[0] != '/' && n.addr.Name[0] != '@') {
		return n
	}
	if fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err == nil {
		n.fd = fd
	}
	return n
}

func (n *notifier) send(message string) {
	n.said = true
	if n.fd >= 0 {
		_ = unix.Sendto(n.fd, []byte(message), unix.MSG_NOSIGNAL, &n.addr)
	}
}

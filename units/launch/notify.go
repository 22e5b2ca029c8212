package launch

import (
	"strings"

	"golang.org/x/sys/unix"
)

// notifier speaks to the service manager by its datagram socket. Without one,
// or when it does not listen, nothing is said: the exit status remains.
type notifier struct {
	fd   int
	addr unix.SockaddrUnix
}

const notifySocket = "NOTIFY_SOCKET"

// silence is the last word before the command begins: a service manager from 254
// on believes nothing any more that the process says. With a voice of its own a
// command could put off its end (EXTEND_TIMEOUT_USEC), and with that a shutdown.
// Messages are read in the order in which they were sent.
const silence = "NOTIFYACCESS=none"

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
	if n.fd >= 0 {
		_ = unix.Sendto(n.fd, []byte(message), unix.MSG_NOSIGNAL, &n.addr)
	}
}

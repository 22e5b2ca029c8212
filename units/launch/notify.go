package launch

import (
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// notifier sends messages to the service manager over its datagram socket. If there is no socket,
// or nobody reads it, nothing is sent, and only the exit status reports a failure.
type notifier struct {
	fd   int
	addr unix.SockaddrUnix
	said bool // a message was sent, so the unit's status line is ours
}

const notifySocket = "NOTIFY_SOCKET"

// silence is the last message before the command begins. After it, systemd 254 and later ignore all
// messages of the process. Without it, a command could extend the time for its stop
// (EXTEND_TIMEOUT_USEC), and so delay a shutdown. Messages are read in the order in which they were
// sent.
const silence = "NOTIFYACCESS=none"

// reportBegun reports that the launcher ran, unless an earlier message has done so. The report is
// needed because the program that replaces the launcher may exit with any status, even one that
// systemd reserves. The argument text goes into the same message, because each message costs the
// service manager some work and wakes everybody who watches the unit.
func (r *run) reportBegun(text string) {
	if (r.stage == first || r.stage == afterLogin) && !r.notify.said {
		text = strings.TrimSuffix("STATUS="+contract.StatusBegun+"\n"+text, "\n")
	}
	if text != "" {
		r.notify.send(text)
	}
}

// newNotifier finds the socket's address in the unit's environment.
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

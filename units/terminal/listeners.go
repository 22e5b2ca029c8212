package terminal

import (
	"encoding/binary"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// listener is a listening socket with the account that made it, -1 if unknown.
type listener struct {
	name string
	uid  int
}

// listeners returns the listening sockets whose name has a prefix. Anybody can make any number of
// such sockets. The kernel says who owns each, without a connection to it.
func listeners(prefix string) ([]listener, error) {
	if list, err := askKernel(prefix); err == nil {
		return list, nil
	}
	return readList(prefix) // a kernel without unix_diag
}

// Constants of sock_diag(7), from linux/unix_diag.h.
const (
	stateListen = 10
	showName    = 0x01
	showUID     = 0x40
	attrName    = 0
	attrUID     = 7
	fixedBytes  = 16 // before the attributes
)

// askKernel asks the kernel with sock_diag(7).
func askKernel(prefix string) (list []listener, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, question(), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	for b := make([]byte, 64<<10); ; {
		n, _, err := unix.Recvfrom(fd, b, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		messages, err := syscall.ParseNetlinkMessage(b[:n])
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			switch m.Header.Type {
			case unix.NLMSG_DONE:
				return list, nil
			case unix.NLMSG_ERROR:
				return nil, unix.ENOTSUP
			}
			if l := parseListener(m.Data); strings.HasPrefix(l.name, prefix) {
				list = append(list, l)
			}
		}
	}
}

// question returns a struct nlmsghdr with a struct unix_diag_req.
func question() []byte {
	e := binary.NativeEndian
	b := e.AppendUint32(nil, unix.SizeofNlMsghdr+24)
	b = e.AppendUint16(b, unix.SOCK_DIAG_BY_FAMILY)
	b = e.AppendUint16(b, unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	b = e.AppendUint32(b, 1) // sequence number
	b = e.AppendUint32(b, 0) // sender
	b = append(b, unix.AF_UNIX, 0, 0, 0)
	b = e.AppendUint32(b, 1<<stateListen)
	b = e.AppendUint32(b, 0) // any inode
	b = e.AppendUint32(b, showName|showUID)
	return append(b, make([]byte, 8)...) // cookie
}

// parseListener reads one socket. A name in the abstract namespace begins with @.
func parseListener(b []byte) listener {
	l := listener{uid: -1}
	for b = b[min(len(b), fixedBytes):]; len(b) >= unix.SizeofRtAttr; {
		size, kind := int(binary.NativeEndian.Uint16(b)), binary.NativeEndian.Uint16(b[2:])
		if size < unix.SizeofRtAttr || size > len(b) {
			break
		}
		switch value := b[unix.SizeofRtAttr:size]; {
		case kind == attrName && len(value) > 0 && value[0] == 0:
			l.name = "@" + string(value[1:])
		case kind == attrUID && len(value) == 4:
			l.uid = int(binary.NativeEndian.Uint32(value))
		}
		b = b[min(len(b), (size+3)&^3):]
	}
	return l
}

// listFile is the kernel's list of sockets. The line of a socket that listens contains the flags in
// the constant listening. The name comes last, and a socket that listens always has one.
const (
	listFile  = "/proc/net/unix"
	listening = " 00010000 "
)

func readList(prefix string) (list []listener, err error) {
	text, err := os.ReadFile(listFile)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if at := strings.Index(line, " "+prefix); at >= 0 && strings.Contains(line[:at], listening) {
			list = append(list, listener{strings.TrimRight(line[at+1:], "\n"), -1})
		}
	}
	return list, nil
}

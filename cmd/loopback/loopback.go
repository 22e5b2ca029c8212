package loopback

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// activated is the descriptor of the first socket that systemd hands over.
const activated = 3

// ErrNotActivated says that systemd has handed over no socket.
var ErrNotActivated = errors.New("there is no socket of systemd's")

// Activated is the one socket that systemd has handed over.
func Activated(getenv func(string) string) (net.Listener, error) {
	if getenv("LISTEN_FDS") != "1" || getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, ErrNotActivated
	}
	file := os.NewFile(activated, "socket")
	defer file.Close() // the listener has a copy
	l, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("take the socket from systemd: %w", err)
	}
	return l, nil
}

// Is reports whether a host, as in an address or a Host header, with or without a port, is this
// machine (invariant 1).
func Is(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") || strings.EqualFold(host, "localhost.") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

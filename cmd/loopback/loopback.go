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

// firstSocket is the descriptor of the first socket that systemd passes.
const firstSocket = 3

// ErrNotActivated means that systemd passed no socket.
var ErrNotActivated = errors.New("systemd passed no socket")

// Activated returns the socket that systemd passed.
func Activated(getenv func(string) string) (net.Listener, error) {
	if getenv("LISTEN_FDS") != "1" || getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, ErrNotActivated
	}
	file := os.NewFile(firstSocket, "socket")
	defer file.Close() // the listener has its own copy
	l, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("use the socket from systemd: %w", err)
	}
	return l, nil
}

// Is reports whether a host is this machine (invariant 1). The host may be an address or a Host
// header, with or without a port.
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

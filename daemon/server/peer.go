package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/sandbox"
)

// peer is the process at the other end of a connection, in its state at the time of connect().
type peer struct {
	pid, uid, gid int
	groups        []uint32
	seen          time.Duration // when the peer was seen, as the time since the boot
}

// has reports whether the peer has a group, according to the kernel.
func (p peer) has(gid int) bool { return p.gid == gid || slices.Contains(p.groups, uint32(gid)) }

// gids returns all groups of the peer in ascending order.
func (p peer) gids() job.GIDs {
	list := job.GIDs{p.gid}
	for _, gid := range p.groups {
		list = append(list, int(gid))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// peerOf asks the kernel for the peer of a unix connection.
func peerOf(c net.Conn) (peer, error) {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return peer{}, fmt.Errorf("identify the peer of a %T: not a unix socket", c)
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return peer{}, fmt.Errorf("identify the peer: %w", err)
	}
	var p peer
	var inner error
	err = raw.Control(func(fd uintptr) {
		var cred *unix.Ucred
		if cred, inner = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); inner != nil {
			return
		}
		p = peer{pid: int(cred.Pid), uid: int(cred.Uid), gid: int(cred.Gid), seen: sandbox.SinceBoot()}
		p.groups, inner = peerGroups(fd)
	})
	if err = errors.Join(err, inner); err != nil {
		return peer{}, fmt.Errorf("identify the peer: %w", err)
	}
	return p, nil
}

// peerGroups reads SO_PEERGROUPS (Linux 4.13), for which x/sys/unix has no function. If the buffer
// is too small, the kernel answers with ERANGE and the size that is needed.
func peerGroups(fd uintptr) ([]uint32, error) {
	groups := make([]uint32, 64)
	for {
		size := uint32(len(groups) * 4)
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&groups[0])), uintptr(unsafe.Pointer(&size)), 0)
		switch {
		case errno == unix.ERANGE && int(size) > len(groups)*4:
			groups = make([]uint32, size/4)
		case errno != 0:
			return nil, fmt.Errorf("read the peer's groups: %w", errno)
		default:
			return groups[:size/4], nil
		}
	}
}

// peerListener identifies the peer of each connection, and limits the number of connections.
type peerListener struct {
	net.Listener
	peerOf    func(net.Conn) (peer, error)
	conns     *connLimiter
	person    func(uid int) int
	clientLog *limitedLog
}

// Accept returns the next connection for which there is a place.
func (l *peerListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		p, err := l.peerOf(c)
		if err != nil {
			l.clientLog.write(noUID, slog.LevelWarn, "connection refused", "error", err)
			c.Close()
			continue
		}
		person := l.person(p.uid)
		if !l.conns.enter(person) {
			l.clientLog.write(person, slog.LevelWarn, "connection refused: too many are open", "uid", p.uid)
			rejectConn(c)
			continue
		}
		return &peerConn{Conn: c, peer: p, leave: sync.OnceFunc(func() { l.conns.release(person) })}, nil
	}
}

// peerConn is a connection whose peer is known and counted.
type peerConn struct {
	net.Conn
	peer  peer
	leave func()
}

// Close closes the connection and frees its place.
func (c *peerConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

type peerKey struct{}

// withPeer adds a connection's peer to the context of its requests.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	if pc, ok := c.(*peerConn); ok {
		return context.WithValue(ctx, peerKey{}, pc.peer)
	}
	return ctx
}

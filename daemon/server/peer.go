package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/sandbox"
)

// peer is the process at the other end, as it was when it called connect().
type peer struct {
	pid, uid, gid int
	groups        []uint32
	seen          time.Duration // when it was there, since the boot
}

// actor names the peer and says whether it is an admin (invariant 2).
func (s *Server) actor(p peer) job.Actor {
	a := job.Actor{UID: p.uid, GID: p.gid, User: s.userName(p.uid), Admin: p.uid == 0 || s.owns(p) || s.administers(p)}
	a.Person = job.Account{UID: a.UID, User: a.User}
	if person := s.person(p.uid); person != p.uid {
		a.Person = job.Account{UID: person, User: s.userName(person)}
	}
	return a
}

// person returns the uid that a uid's limits are counted by, as far as that is known.
func (s *Server) person(uid int) int {
	person, _ := s.opt.Person(uid)
	return person
}

// administers reports whether the peer has the administrators' group and its account
// is still in it: a process keeps the groups that it was given at the login.
func (s *Server) administers(p peer) bool {
	gid, ok := s.opt.GroupID(s.opt.Config().Daemon.AdminGroup)
	return ok && p.has(gid) && s.opt.Holds(p.uid, gid)
}

// has reports whether the kernel says that the peer has a group.
func (p peer) has(gid int) bool { return p.gid == gid || slices.Contains(p.groups, uint32(gid)) }

// member reports whether the host knows that the peer's person is in a group.
func (s *Server) member(p peer, gid int) bool {
	in, known := s.opt.Member(s.person(p.uid), gid)
	return in && known
}

// quotaGroups names the groups with a quota that the peer, or whoever it belongs to,
// is in, sorted. A process can be without groups that its user is in.
func (s *Server) quotaGroups(p peer) []string {
	var in []string
	for _, name := range s.opt.Config().QuotaGroups() {
		if gid, ok := s.opt.GroupID(name); ok && (p.has(gid) || s.member(p, gid)) {
			in = append(in, name)
		}
	}
	slices.Sort(in)
	return slices.Compact(in)
}

// gids are all groups of the peer, ascending.
func (p peer) gids() job.GIDs {
	list := job.GIDs{p.gid}
	for _, gid := range p.groups {
		list = append(list, int(gid))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// peerOf asks the kernel who is at the other end of a unix connection.
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

// peerGroups reads SO_PEERGROUPS (Linux 4.13), which x/sys/unix does not wrap.
// The kernel answers ERANGE with the size that it needs.
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

// peerListener identifies each connection and keeps to the bounds on their
// number.
type peerListener struct {
	net.Listener
	peerOf func(net.Conn) (peer, error)
	conns  *connLimiter
	person func(uid int) int
	lines  *limitedLog
}

// Accept returns the next connection that may come in.
func (l *peerListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		p, err := l.peerOf(c)
		if err != nil {
			l.lines.write(nobody, slog.LevelWarn, "connection refused", "error", err)
			c.Close()
			continue
		}
		person := l.person(p.uid)
		if !l.conns.enter(person) {
			l.lines.write(person, slog.LevelWarn, "connection refused: too many are open", "uid", p.uid)
			rejectConn(c)
			continue
		}
		return &peerConn{Conn: c, peer: p, leave: sync.OnceFunc(func() { l.conns.leave(person) })}, nil
	}
}

// peerConn is a connection whose peer is known and counted.
type peerConn struct {
	net.Conn
	peer  peer
	leave func()
}

// Close closes the connection and gives its place back.
func (c *peerConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

type peerKey struct{}

// withPeer carries the identity from the connection to its requests.
func withPeer(ctx context.Context, c net.Conn) context.Context {
	if pc, ok := c.(*peerConn); ok {
		return context.WithValue(ctx, peerKey{}, pc.peer)
	}
	return ctx
}

// userName returns the account's name, its number where it has none.
func (s *Server) userName(uid int) string { return cmp.Or(s.opt.UserName(uid), strconv.Itoa(uid)) }

// nameOfProcess names whose a process is: "bob", and "bob (uid 165700)" for one of bob's container.
func (s *Server) nameOfProcess(uid int) string {
	if person := s.person(uid); person != uid {
		return fmt.Sprintf("%s (uid %d)", s.knownName(person), uid)
	}
	return s.knownName(uid)
}

// knownName is userName, as far as it is known without waiting.
func (s *Server) knownName(uid int) string { return cmp.Or(s.opt.KnownName(uid), strconv.Itoa(uid)) }

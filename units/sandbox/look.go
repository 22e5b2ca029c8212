package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Peer is a process as it was when it connected.
type Peer struct {
	PID, UID int
	Seen     time.Duration // when it was there, since the boot
}

// PeerOf asks the kernel who connected at the other end of a unix socket.
func PeerOf(fd int) (Peer, error) {
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return Peer{}, fmt.Errorf("identify the peer: %w", err)
	}
	return Peer{PID: int(c.Pid), UID: int(c.Uid), Seen: SinceBoot()}, nil
}

// Process is what a process may and may not do, besides what its account may.
type Process struct {
	Limits     string // /proc/PID/limits
	Restricted string // what it has, or is in, that keeps it from something that its account may do; "": nothing
}

// Why a process can't be judged.
var (
	ErrGone    = errors.New("it has ended")
	ErrAnother = errors.New("it has ended, and its number is another's")
	ErrOthers  = errors.New("it is not wholly its user's: it changes its identity, as su does")
)

// processDir reads files of one process's directory in /proc. It stays with
// that process: when the process is gone reading fails, also where its number
// has been given to another.
type processDir interface {
	ReadFile(name string) ([]byte, error)
	Readlink(name string) (string, error)
	Inode(name string) uint64 // 0: it can't be told
}

// procDir is the directory of a process.
type procDir struct{ *os.Root }

// Readlink goes by the path: Root would open the directories on the way, which
// their user alone may. Whether the number was still the same process's is seen
// when a file is read afterwards.
func (d procDir) Readlink(name string) (string, error) { return os.Readlink(d.Name() + "/" + name) }

// Inode is that of a file, which is not opened.
func (d procDir) Inode(name string) uint64 {
	info, err := d.Stat(name)
	if err != nil {
		return 0
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

func openDir(pid int) (procDir, error) {
	root, err := os.OpenRoot(fmt.Sprintf("/proc/%d", pid))
	return procDir{root}, err
}

// A Reference is a process that others are compared with.
type Reference struct{ status }

// ReferenceTo reads what a process may do from /proc. It holds for as long as the process runs, unless
// the process restricts itself meanwhile.
func ReferenceTo(pid int) (Reference, error) {
	dir, err := openDir(pid)
	if err != nil {
		return Reference{}, err
	}
	defer dir.Close()
	text, err := dir.ReadFile("status")
	if err != nil {
		return Reference{}, err
	}
	st := parseStatus(string(text))
	st.label, st.net, st.root = labelOf(dir), dir.Inode(netOf), rootOf(dir)
	return Reference{st}, nil
}

// Look compares a process with the reference, and its user and pid namespaces with those of this
// process, which are those of the machine, or container, that it serves. It reads /proc, since
// prlimit(2) would need CAP_SYS_RESOURCE.
func Look(p Peer, first Reference) (Process, error) {
	if p.PID <= 0 {
		return Process{}, errors.New("it is in a pid namespace that the scheduler does not see")
	}
	dir, err := openDir(p.PID)
	if err != nil {
		return Process{}, ErrGone
	}
	defer dir.Close()
	self, err := openDir(os.Getpid())
	if err != nil {
		return Process{}, err
	}
	defer self.Close()
	return look(dir, self, first.status, p)
}

// look fails where what it reads can't be told to be the peer's: the process has ended, its
// number has passed to another process, or it is changing its identity (as su and sudo do,
// which also change limits).
func look(dir, self processDir, first status, p Peer) (Process, error) {
	before, err := wholly(dir, p)
	if err != nil {
		return Process{}, err
	}
	limits, err := dir.ReadFile("limits")
	if err != nil {
		return Process{}, ErrGone
	}
	place, label := elsewhere(dir, self, before, first), labelOf(dir)
	st, err := wholly(dir, p)
	if err != nil {
		return Process{}, err
	}
	st.label = label
	return Process{Limits: string(limits), Restricted: cmp.Or(st.less(first), place)}, nil
}

// netOf is a file that is another one in each network namespace. Its inode tells them apart also
// where the link to the namespace can't be read.
const netOf = "net/dev"

// elsewhere reports a process in another namespace of users or pids than ours, or in another one
// of the network or with another root directory than the first. That its mounts are others does not
// count: those of sessions are others where PrivateTmp= or pam_namespace has made them.
func elsewhere(dir, self processDir, st, first status) string {
	for _, ns := range []string{"user", "pid"} {
		theirs, err := dir.Readlink("ns/" + ns)
		ours, errOurs := self.Readlink("ns/" + ns)
		same := err == nil && errOurs == nil && theirs == ours
		if errors.Is(err, fs.ErrPermission) {
			same = mayBeSame(dir, self, st, ns)
		}
		if !same {
			return "is in another " + ns + " namespace"
		}
	}
	switch {
	case dir.Inode(netOf) != first.net:
		return "is in another network namespace"
	case rootOf(dir) != first.root:
		return "has another root directory"
	}
	return ""
}

// rootOf says which directory of which file system a process has as its root; "": one that
// is no mount point. It asks no file system, as one may hang.
func rootOf(dir processDir) (root string) {
	const device, within, at = 2, 3, 4 // as proc_pid_mountinfo(5) counts, from 0
	text, _ := dir.ReadFile("mountinfo")
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, " / ") {
			continue // most lines, of which there may be hundreds
		}
		if f := strings.Fields(line); len(f) > at && f[at] == "/" {
			root = f[device] + " " + f[within] // the last one is on top
		}
	}
	return root
}

// mayBeSame is for a process whose links this one may not read though it may be in the same
// namespaces. Its table of uids is another one in each user namespace that an ordinary user
// can make, and its number in a pid namespace below ours is told.
func mayBeSame(dir, self processDir, st status, ns string) bool {
	text, err := self.ReadFile("status")
	if own := parseStatus(string(text)); err != nil || !st.hides(own) {
		return false
	}
	if ns == "pid" {
		return st.depth == 1
	}
	theirs, err := dir.ReadFile("uid_map")
	ours, errOurs := self.ReadFile("uid_map")
	return err == nil && errOurs == nil && string(theirs) == string(ours)
}

// wholly reads the status of a process and refuses one that has ended, that
// began after the peer was seen, or whose real, effective, saved and file-system
// uid are not all the peer's.
func wholly(dir processDir, p Peer) (status, error) {
	text, err := dir.ReadFile("status")
	if err != nil {
		return status{}, ErrGone
	}
	stat, err := dir.ReadFile("stat")
	if err != nil {
		return status{}, ErrGone
	}
	began, ok := startOf(string(stat))
	st := parseStatus(string(text))
	want := strconv.Itoa(p.UID)
	switch {
	case !ok || st.ended:
		return st, ErrGone
	case began > p.Seen:
		return st, ErrAnother
	case !slices.Equal(st.uids, []string{want, want, want, want}):
		return st, ErrOthers
	}
	return st, nil
}

// ticks is the unit of times in /proc/PID/stat, USER_HZ on all machines.
const ticks = 100

// startOf reads from /proc/PID/stat when a process began, since the boot. The
// second field is a name in brackets, which may hold anything.
func startOf(stat string) (time.Duration, bool) {
	const starttime = 22 // as proc(5) counts
	i := strings.LastIndexByte(stat, ')')
	fields := strings.Fields(stat[i+1:])
	if i < 0 || len(fields) <= starttime-3 {
		return 0, false
	}
	n, err := strconv.ParseInt(fields[starttime-3], 10, 64)
	return time.Duration(n) * (time.Second / ticks), err == nil
}

// SinceBoot is the clock of Peer.Seen.
func SinceBoot() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts)
	return time.Duration(ts.Nano())
}

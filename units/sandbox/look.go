package sandbox

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Peer is the process that connected, as it was when it connected.
type Peer struct {
	PID, UID int
	Seen     time.Duration // time of the connection, since the boot
}

// PeerOf asks the kernel for the process at the other end of a unix socket.
func PeerOf(fd int) (Peer, error) {
	c, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return Peer{}, fmt.Errorf("identify the peer: %w", err)
	}
	return Peer{PID: int(c.Pid), UID: int(c.Uid), Seen: SinceBoot()}, nil
}

// Process has what limits a process, apart from the limits of its account.
type Process struct {
	Limits     string // /proc/PID/limits
	Restricted string // what keeps it from something that its account may do; "": nothing
}

// Reasons why a process can't be judged.
var (
	ErrGone    = errors.New("it has ended")
	ErrAnother = errors.New("it has ended, and its number is another's")
	ErrOthers  = errors.New("it does not belong wholly to its user: it is changing its identity, as su does")
)

// processDir reads the files of one process in /proc. Once that process has ended, reading fails,
// even if another process has got the same number.
type processDir interface {
	ReadFile(name string) ([]byte, error)
	Readlink(name string) (string, error)
	Inode(name string) uint64 // 0: unknown
}

// procDir is a descriptor of the directory of a process. Its files are read without package os,
// which would first ask for each of them, in four system calls, whether it can be polled.
type procDir int

func openDir(pid int) (procDir, error) {
	fd, err := unix.Open(fmt.Sprintf("/proc/%d", pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	return procDir(fd), err
}

func (d procDir) Close() error { return unix.Close(int(d)) }

func (d procDir) ReadFile(name string) ([]byte, error) {
	fd, err := unix.Openat(int(d), name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	var text bytes.Buffer
	text.Grow(4096)
	_, err = text.ReadFrom(f)
	return text.Bytes(), err
}

func (d procDir) Readlink(name string) (string, error) {
	var to [unix.PathMax]byte
	n, err := unix.Readlinkat(int(d), name, to[:])
	return string(to[:max(n, 0)]), err
}

// Inode returns the inode of a file without opening it.
func (d procDir) Inode(name string) uint64 {
	var st unix.Stat_t
	if unix.Fstatat(int(d), name, &st, 0) != nil {
		return 0
	}
	return st.Ino
}

// Reference is a process with which others are compared.
type Reference struct{ status }

// ReferenceTo reads from /proc what a process may do. The result is valid as long as the process
// runs, unless the process restricts itself meanwhile.
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
	st.mounts, _ = dir.Readlink(mountsOf)
	return Reference{st}, nil
}

// Complete reports whether everything could be read, so that the reference can be used again later.
func (r *Reference) Complete() bool { return r.net != 0 && r.root != "" }

// Look compares a process with the reference. It also compares the user and pid namespaces of the
// process with those of the calling program, which are the namespaces of its machine or container.
// It reads the limits in /proc, because prlimit(2) would need CAP_SYS_RESOURCE.
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
	return readProcess(dir, self, first.status, p)
}

// readProcess fails if what it reads may not be about the peer: the process has ended, another
// process has its number, or the process is changing its identity (as su and sudo do, which also
// change limits).
func readProcess(dir, self processDir, first status, p Peer) (Process, error) {
	before, err := statusOfPeer(dir, p)
	if err != nil {
		return Process{}, err
	}
	limits, err := dir.ReadFile("limits")
	if err != nil {
		return Process{}, ErrGone
	}
	place, label := whyElsewhere(dir, self, before, first), labelOf(dir)
	st, err := statusOfPeer(dir, p)
	if err != nil {
		return Process{}, err
	}
	st.label = label
	return Process{Limits: string(limits), Restricted: cmp.Or(st.missingRight(first), place)}, nil
}

// netOf is a file whose inode differs in each network namespace. So the inode distinguishes
// namespaces even if the link to the namespace can't be read.
const netOf = "net/dev"

// whyElsewhere reports a process whose user or pid namespace is not ours, or whose network
// namespace or root directory is not the reference's. Other mounts do not count: sessions have
// their own mounts if PrivateTmp= or pam_namespace makes them.
func whyElsewhere(dir, self processDir, st, first status) string {
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
	case !sharesRoot(dir, first) && rootOf(dir) != first.root:
		return "has another root directory"
	}
	return ""
}

// mountsOf is the link to a process's mount namespace.
const mountsOf = "ns/mnt"

// sharesRoot reports whether a process certainly has the reference's root: it has the same mounts
// and did not change its root. Reading the mounts of a process takes longer than anything else here.
func sharesRoot(dir processDir, first status) bool {
	mounts, err := dir.Readlink(mountsOf)
	root, errRoot := dir.Readlink("root")
	return err == nil && errRoot == nil && mounts == first.mounts && root == "/"
}

// rootOf returns the file system and directory that a process has as its root; "" if the root is
// not a mount point. rootOf makes no request to that file system, because the file system may hang.
func rootOf(dir processDir) (root string) {
	const device, within, at = 2, 3, 4 // numbers of fields in proc_pid_mountinfo(5), from 0
	text, _ := dir.ReadFile("mountinfo")
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, " / ") {
			continue // like most lines, of which there may be hundreds
		}
		if f := strings.Fields(line); len(f) > at && f[at] == "/" {
			root = f[device] + " " + f[within] // the last mount is on top
		}
	}
	return root
}

// mayBeSame reports whether a process may be in our namespaces. It is for a process whose links
// this process may not read. Each user namespace that an ordinary user can make has another table
// of uids, and a process in a pid namespace below ours has several numbers.
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

// statusOfPeer reads the status of a process. It fails if the process has ended, began after the
// peer was seen, or has a real, effective, saved or file-system uid other than the peer's.
func statusOfPeer(dir processDir, p Peer) (status, error) {
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

// ticks is the number of time units per second in /proc/PID/stat, USER_HZ on all machines.
const ticks = 100

// startOf returns the start of a process, since the boot, from /proc/PID/stat. The second field is
// a name in brackets, which may contain anything.
func startOf(stat string) (time.Duration, bool) {
	const starttime = 22 // number of this field in proc(5)
	i := strings.LastIndexByte(stat, ')')
	fields := strings.Fields(stat[i+1:])
	if i < 0 || len(fields) <= starttime-3 {
		return 0, false
	}
	n, err := strconv.ParseInt(fields[starttime-3], 10, 64)
	return time.Duration(n) * (time.Second / ticks), err == nil
}

// SinceBoot returns the present time of the clock that Peer.Seen uses.
func SinceBoot() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts)
	return time.Duration(ts.Nano())
}

package server

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/units/contract"
)

// process is what a submitting process may and may not do, besides what its
// account may.
type process struct {
	limits  []contract.Limit
	sandbox string // what keeps it from something that its account may do; "": nothing
}

// processDir reads files of one process's directory in /proc. It stays with
// that process: when the process is gone reading fails, also where its number
// has been given to another.
type processDir interface {
	ReadFile(name string) ([]byte, error)
	Readlink(name string) (string, error)
}

// procDir is the directory of a process.
type procDir struct{ *os.Root }

// Readlink goes by the path: Root would open the directories on the way, which
// their user alone may. Whether the number was still the same process's is seen
// when a file is read afterwards.
func (d procDir) Readlink(name string) (string, error) { return os.Readlink(d.Name() + "/" + name) }

// processOf looks at the process at the other end. It reads /proc because
// prlimit(2) would need CAP_SYS_RESOURCE.
func processOf(p peer) (process, error) {
	if p.pid <= 0 {
		return process{}, errors.New("it is in a pid namespace that the scheduler does not see")
	}
	dir, err := os.OpenRoot(fmt.Sprintf("/proc/%d", p.pid))
	if err != nil {
		return process{}, errGone
	}
	defer dir.Close()
	self, err := os.OpenRoot("/proc/self")
	if err != nil {
		return process{}, err
	}
	defer self.Close()
	first, err := os.ReadFile("/proc/1/status")
	if err != nil {
		return process{}, err
	}
	return look(procDir{dir}, procDir{self}, parseStatus(string(first)), p)
}

var (
	errGone    = errors.New("it has ended")
	errAnother = errors.New("it has ended, and its number is another's")
	errOthers  = errors.New("it is not wholly its user's: it changes its identity, as su does")
)

// look reads of a process what a job of it must keep to. It fails where that
// can't be told to be the submitter's: the process has ended, its number has
// passed to another process, or it is changing its identity (as su and sudo do,
// which also change limits). Self is this process, which is in no namespace of
// users or pids but those of the machine, or container, that it serves; first is
// what every process there has.
func look(dir, self processDir, first status, p peer) (process, error) {
	if _, err := wholly(dir, p); err != nil {
		return process{}, err
	}
	text, err := dir.ReadFile("limits")
	if err != nil {
		return process{}, errGone
	}
	found := process{limits: parseLimits(string(text))}
	for _, ns := range []string{"user", "pid"} {
		if found.sandbox == "" {
			found.sandbox = elsewhere(dir, self, ns)
		}
	}
	st, err := wholly(dir, p)
	if err != nil {
		return process{}, err
	}
	found.sandbox = cmp.Or(st.sandbox(first), found.sandbox)
	return found, nil
}

// elsewhere reports a process in another namespace than ours. One that can't be
// asked counts as elsewhere.
func elsewhere(dir, self processDir, ns string) string {
	theirs, err := dir.Readlink("ns/" + ns)
	ours, errOurs := self.Readlink("ns/" + ns)
	if err != nil || errOurs != nil || theirs != ours {
		return "another " + ns + " namespace"
	}
	return ""
}

// wholly reads the status of a process and refuses one that has ended, that
// began after the peer was seen, or whose real, effective, saved and file-system
// uid are not all the peer's.
func wholly(dir processDir, p peer) (status, error) {
	text, err := dir.ReadFile("status")
	if err != nil {
		return status{}, errGone
	}
	stat, err := dir.ReadFile("stat")
	if err != nil {
		return status{}, errGone
	}
	began, ok := startOf(string(stat))
	st := parseStatus(string(text))
	want := strconv.Itoa(p.uid)
	switch {
	case !ok || st.ended:
		return st, errGone
	case began > p.seen:
		return st, errAnother
	case !slices.Equal(st.uids, []string{want, want, want, want}):
		return st, errOthers
	}
	return st, nil
}

// status is what of /proc/PID/status is of interest.
type status struct {
	ended      bool
	uids       []string // real, effective, saved and file-system
	noNewPrivs int
	seccomp    int // 0: no filter of system calls
	filters    int // how many; not told by Linux before 5.9
}

func parseStatus(text string) status {
	var st status
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		number, _ := strconv.Atoi(value)
		switch name {
		case "State":
			st.ended = strings.HasPrefix(value, "Z") || strings.HasPrefix(value, "X")
		case "Uid":
			st.uids = strings.Fields(value)
		case "NoNewPrivs":
			st.noNewPrivs = number
		case "Seccomp":
			st.seccomp = number
		case "Seccomp_filters":
			st.filters = number
		}
	}
	return st
}

// sandbox reports what a process can't do that the first one here could: inside a
// container all of them may have a filter.
func (st status) sandbox(first status) string {
	switch {
	case st.noNewPrivs > first.noNewPrivs:
		return "no new privileges (no_new_privs)"
	case st.seccomp > first.seccomp || st.filters > first.filters:
		return "a filter of system calls (seccomp)"
	}
	return ""
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

// sinceBoot is the clock of startOf.
func sinceBoot() time.Duration {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts)
	return time.Duration(ts.Nano())
}

// takeOver returns the limits that the job of a submitting process keeps to, or
// refuses the submission: one whose limits can't be read would get around them,
// and one from inside a sandbox around that.
func (s *Server) takeOver(r *request) ([]contract.Limit, error) {
	p, err := s.processOf(r.peer)
	if err != nil {
		return nil, &api.Error{
			Code:    api.CodeForbidden,
			Message: "the resource limits of the submitting process can't be read: " + err.Error(),
			Hint:    "a job has the limits of the process that submits it, which must be there until it is answered, as 'gpusched submit' is",
		}
	}
	if p.sandbox != "" && !s.opt.Config().Jobs.AllowSandboxed {
		return nil, &api.Error{
			Code:    api.CodeForbidden,
			Message: "jobs are not taken from inside a sandbox, since they would run outside of it; this process has " + p.sandbox,
			Hint:    "submit from an ordinary session, or let an administrator set jobs.allow_sandboxed (gpusched.toml(5))",
		}
	}
	return p.limits, nil
}

package server

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/daemon/job"
)

// limitNames are the resource limits in the order of the kernel's numbers
// (RLIMIT_CPU is 0), as systemd names them after "Limit".
var limitNames = [...]string{
	unix.RLIMIT_CPU: "CPU", unix.RLIMIT_FSIZE: "FSIZE", unix.RLIMIT_DATA: "DATA", unix.RLIMIT_STACK: "STACK",
	unix.RLIMIT_CORE: "CORE", unix.RLIMIT_RSS: "RSS", unix.RLIMIT_NPROC: "NPROC", unix.RLIMIT_NOFILE: "NOFILE",
	unix.RLIMIT_MEMLOCK: "MEMLOCK", unix.RLIMIT_AS: "AS", unix.RLIMIT_LOCKS: "LOCKS",
	unix.RLIMIT_SIGPENDING: "SIGPENDING", unix.RLIMIT_MSGQUEUE: "MSGQUEUE", unix.RLIMIT_NICE: "NICE",
	unix.RLIMIT_RTPRIO: "RTPRIO", unix.RLIMIT_RTTIME: "RTTIME",
}

// processes is what limitsOf asks of the kernel.
type processes interface {
	// status returns the text of /proc/PID/status.
	status(pid int) (string, error)
	// limit reads one resource limit of a process.
	limit(pid, resource int) (unix.Rlimit, error)
}

// limitsOf returns the resource limits of the submitting process, or none
// where it cannot be told that they are the submitter's: the process has ended,
// its number has passed to another user, or it is changing its identity (as
// su and sudo do, which also change limits).
func limitsOf(k processes, pid, uid int) []job.Limit {
	if pid <= 0 || !wholly(k, pid, uid) {
		return nil
	}
	list := make([]job.Limit, 0, len(limitNames))
	for resource, name := range limitNames {
		l, err := k.limit(pid, resource)
		if err != nil {
			return nil
		}
		list = append(list, job.Limit{Name: name, Soft: l.Cur, Hard: l.Max})
	}
	if !wholly(k, pid, uid) {
		return nil
	}
	return list
}

// wholly tells whether the process exists and its real, effective, saved and
// file-system uid are all uid.
func wholly(k processes, pid, uid int) bool {
	text, err := k.status(pid)
	if err != nil {
		return false
	}
	for line := range strings.Lines(text) {
		ids, ok := strings.CutPrefix(line, "Uid:")
		if !ok {
			continue
		}
		want := fmt.Sprint(uid)
		fields := strings.Fields(ids)
		for _, f := range fields {
			if f != want {
				return false
			}
		}
		return len(fields) == 4
	}
	return false
}

// procLimits asks the real kernel. Reading another user's limits needs
// CAP_SYS_RESOURCE, and a /proc that shows all processes.
type procLimits struct{}

func (procLimits) status(pid int) (string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return string(b), err
}

func (procLimits) limit(pid, resource int) (l unix.Rlimit, err error) {
	err = unix.Prlimit(pid, resource, nil, &l)
	return l, err
}

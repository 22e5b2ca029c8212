package server

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// limitNames are the rows of /proc/PID/limits (Linux, fs/proc/base.c), and what
// systemd calls them after "Limit". Numbers are those of getrlimit(2).
var limitNames = map[string]string{
	"Max cpu time": "CPU", "Max file size": "FSIZE", "Max data size": "DATA", "Max stack size": "STACK",
	"Max core file size": "CORE", "Max resident set": "RSS", "Max processes": "NPROC", "Max open files": "NOFILE",
	"Max locked memory": "MEMLOCK", "Max address space": "AS", "Max file locks": "LOCKS",
	"Max pending signals": "SIGPENDING", "Max msgqueue size": "MSGQUEUE", "Max nice priority": "NICE",
	"Max realtime priority": "RTPRIO", "Max realtime timeout": "RTTIME",
}

// limitNameWidth is the width of the first column of /proc/PID/limits.
const limitNameWidth = 26

// processDir reads files of one process's directory in /proc. It stays with
// that process: when the process is gone reading fails, also where its number
// has been given to another.
type processDir interface {
	ReadFile(name string) ([]byte, error)
}

// limitsOfPeer returns the resource limits of the submitting process, or none
// (limitsOf). It reads /proc because prlimit(2) would need CAP_SYS_RESOURCE.
func limitsOfPeer(pid, uid int) []job.Limit {
	if pid <= 0 {
		return nil // in a pid namespace that we cannot see into
	}
	dir, err := os.OpenRoot(fmt.Sprintf("/proc/%d", pid))
	if err != nil {
		return nil
	}
	defer dir.Close()
	return limitsOf(dir, uid)
}

// limitsOf returns the limits of a process, or none where it cannot be told
// that they are the submitter's: the process has ended, its number has passed
// to another user, or it is changing its identity (as su and sudo do, which
// also change limits).
func limitsOf(dir processDir, uid int) []job.Limit {
	if !wholly(dir, uid) {
		return nil
	}
	text, err := dir.ReadFile("limits")
	if err != nil || !wholly(dir, uid) {
		return nil
	}
	return parseLimits(string(text))
}

// parseLimits reads the table; a row that it does not know or understand is
// left out, and so is systemd's default for it left in place.
func parseLimits(text string) []job.Limit {
	var list []job.Limit
	for line := range strings.Lines(text) {
		if len(line) < limitNameWidth {
			continue
		}
		name, known := limitNames[strings.TrimSpace(line[:limitNameWidth])]
		values := strings.Fields(line[limitNameWidth:])
		if !known || len(values) < 2 {
			continue
		}
		soft, errSoft := parseLimit(values[0])
		hard, errHard := parseLimit(values[1])
		if errSoft == nil && errHard == nil {
			list = append(list, job.Limit{Name: name, Soft: soft, Hard: hard})
		}
	}
	return list
}

func parseLimit(text string) (uint64, error) {
	if text == "unlimited" {
		return math.MaxUint64, nil
	}
	return strconv.ParseUint(text, 10, 64)
}

// wholly tells whether the process lives and its real, effective, saved and
// file-system uid are all uid.
func wholly(dir processDir, uid int) bool {
	text, err := dir.ReadFile("status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		ids, ok := strings.CutPrefix(line, "Uid:")
		if !ok {
			continue
		}
		want := strconv.Itoa(uid)
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

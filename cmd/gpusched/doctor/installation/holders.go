package installation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// A holder is a process that has a GPU's device node open. Such a process need not use the GPU: an
// open file can be inherited or passed on. Until the file is closed, the GPU keeps all data of the
// process that opened the file.
type holder struct {
	pid, uid int
	comm     string
}

// maxHolders is the largest number of holders that are named.
const maxHolders = 10

// checkHolders looks at GPUs that take no jobs because something was left on them. If run by root,
// it names the processes that have such a GPU open.
func (h host) checkHolders(gpus []api.GPU) []job.Check {
	var checks []job.Check
	for i := range gpus {
		g := &gpus[i]
		if g.Minor < 0 || g.State != job.GPUSick && g.State != job.GPUSuspect {
			continue
		}
		name := fmt.Sprintf("gpu %d holders", g.Index)
		list, err := h.holders(fmt.Sprintf("/dev/nvidia%d", g.Minor))
		if err != nil {
			checks = append(checks, unreadable(name, err))
			continue
		}
		checks = append(checks, holdersCheck(name, list, g))
	}
	return checks
}

func holdersCheck(name string, list []holder, g *api.GPU) job.Check {
	if len(list) == 0 {
		return healthy(name, "no process has it open")
	}
	var words []string
	for _, p := range list[:min(len(list), maxHolders)] {
		text := fmt.Sprintf("process %d (%s) of uid %d", p.pid, term.Clean(p.comm), p.uid)
		if !slices.ContainsFunc(g.Processes, func(q job.GPUProcess) bool { return q.PID == p.pid }) {
			text += ", which the driver does not list"
		}
		words = append(words, text)
	}
	if more := len(list) - maxHolders; more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	return degraded(name, "it is open in "+strings.Join(words, "; "),
		"memory that stays in use is freed when the last process that holds it ends; "+
			"the scheduler's own gpusched-nvml and nvidia-persistenced hold none")
}

// holders returns the processes that have the node open, in order of pid. It fails unless root runs
// it, since other users see only their own processes.
func (h host) holders(node string) ([]holder, error) {
	dirs, err := filepath.Glob(h.path("/proc/[0-9]*"))
	if err != nil {
		return nil, err
	}
	var list []holder
	for _, dir := range dirs {
		open, err := hasOpen(dir, node)
		if errors.Is(err, fs.ErrPermission) {
			return nil, err
		}
		if !open {
			continue
		}
		p := holder{uid: -1}
		p.pid, _ = strconv.Atoi(filepath.Base(dir))
		if st, err := os.Stat(dir); err == nil {
			if sys, ok := st.Sys().(*syscall.Stat_t); ok {
				p.uid = int(sys.Uid)
			}
		}
		comm, _ := os.ReadFile(filepath.Join(dir, "comm"))
		p.comm = strings.TrimSpace(string(comm))
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b holder) int { return a.pid - b.pid })
	return list, nil
}

// hasOpen reports whether a process has the node open. For a process that has just ended, it
// returns false.
func hasOpen(dir, node string) (bool, error) {
	fds, err := os.ReadDir(filepath.Join(dir, "fd"))
	if err != nil {
		return false, err
	}
	for _, fd := range fds {
		to, err := os.Readlink(filepath.Join(dir, "fd", fd.Name()))
		if errors.Is(err, fs.ErrPermission) {
			return false, err
		}
		if to == node || to == node+" (deleted)" {
			return true, nil
		}
	}
	return false, nil
}

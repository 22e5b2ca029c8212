package hold

import (
	"bytes"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// Engine runs a command of Podman, and returns the exit status of the container. Podman consists of
// two processes here. Before Podman 5, the first ends at once on SIGTERM, with a status that says
// nothing, while the second waits for the container; Engine then waits for the second. The argument
// signals lists the signals that only the unit's main process gets, which is this process; Engine
// passes them on. It also passes on all other signals for the container as a whole. SIGTERM is not
// one of these, because it arrives at every process of a job that is stopped.
func Engine(argv, environ []string, signals string) int {
	keepOpen()
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	arriving := make(chan os.Signal, 256) // while twinOf looks, many of Go's own SIGURG may arrive
	signal.Notify(arriving)
	cmd := command(argv, environ)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		os.Stderr.WriteString("gpusched: the container could not be run: " + err.Error() + "\n")
		return statusNotRun
	}
	first := cmd.Process.Pid
	var found atomic.Int64 // the second process, which can be found only until it ends
	look := func() int {
		if pid := twinOf(first, argv); pid > 0 {
			found.Store(int64(pid))
		}
		return int(found.Load())
	}
	go func() {
		for s := range arriving {
			n := s.(syscall.Signal)
			passes := isRelayed(n) || slices.Contains(strings.Split(signals, ","), strconv.Itoa(int(n)))
			if !passes && n != syscall.SIGTERM {
				continue
			}
			to := look()
			if to == 0 {
				to = first
			}
			if passes {
				_ = unix.Kill(to, n)
			}
		}
	}()
	ended := map[int]int{}
	for pid := 0; pid != first; {
		var status int
		if pid, status = waitFor(-1); pid < 0 {
			return statusNotRun
		}
		ended[pid] = status
	}
	second := look()
	if status, over := ended[second]; over {
		return status
	}
	if second > 0 {
		if pid, status := waitFor(second); pid == second {
			return status
		}
	}
	return ended[first]
}

// waitFor waits for the end of a child, or of any child if pid is -1, and returns its exit status.
// It returns a negative number if there is no such child.
func waitFor(pid int) (ended, status int) {
	for {
		var how syscall.WaitStatus
		ended, err := syscall.Wait4(pid, &how, 0, nil)
		if err == nil {
			return ended, statusOf(how)
		}
		if err != syscall.EINTR {
			return -1, 0
		}
	}
}

// keepOpen keeps an inherited file, which tells others that the job runs, from the processes that
// this one starts.
func keepOpen() {
	for fd := 3; fd < 16; fd++ {
		unix.CloseOnExec(fd)
	}
}

// isRelayed reports whether a signal that arrives is one for a container as a whole. Any other
// signal arrives at all processes, or concerns only this process.
func isRelayed(s syscall.Signal) bool {
	switch s {
	case syscall.SIGTERM, syscall.SIGCONT, syscall.SIGCHLD, syscall.SIGURG, syscall.SIGWINCH, syscall.SIGPIPE:
		return false
	}
	return true
}

// twinOf returns a child of the process pid with the same command line, or 0. If the process pid
// has ended, its children have become children of this process.
func twinOf(pid int, argv []string) int {
	line := []byte(strings.Join(argv, "\x00") + "\x00")
	paths, _ := filepath.Glob("/proc/[1-9]*/cmdline")
	for _, path := range paths {
		dir := filepath.Dir(path)
		other, _ := strconv.Atoi(filepath.Base(dir))
		if text, err := os.ReadFile(path); err != nil || other == pid || !bytes.Equal(text, line) {
			continue
		}
		stat, _ := os.ReadFile(filepath.Join(dir, "stat"))
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the state, and the parent
		if len(fields) < 2 {
			continue
		}
		if parent, _ := strconv.Atoi(string(fields[1])); parent == pid || parent == os.Getpid() {
			return other
		}
	}
	return 0
}

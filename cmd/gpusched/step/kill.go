package step

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// killAll kills the tasks with their descendants, which use the step's GPUs as well.
func killAll(tasks []*exec.Cmd) {
	for _, cmd := range tasks {
		if cmd.Process.Signal(syscall.SIGSTOP) == nil { // it has not ended
			killChildren(cmd.Process.Pid)
			cmd.Process.Kill()
		}
	}
}

// killChildren kills the descendants of a stopped process. It stops each of them first, so that none
// can start another meanwhile.
func killChildren(parent int) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		stat, _ := os.ReadFile(file) // empty if the process has ended
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) && syscall.Kill(pid, syscall.SIGSTOP) == nil {
			killChildren(pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

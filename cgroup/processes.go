package cgroup

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A Process is a process in a control group.
type Process struct {
	PID   int
	Name  string // chosen by the process, "" if unknown
	State byte   // as in /proc/PID/stat, such as 'D' for uninterruptible sleep, '?' if unknown
}

// Processes lists the processes in the control group and in groups below it. It looks up their
// names and states in procRoot ("/proc"). It returns ErrGone if there is no such group.
func Processes(root, procRoot, group string) ([]Process, error) {
	if !strings.HasPrefix(group, "/") || group == "/" || filepath.Clean(group) != group {
		return nil, fmt.Errorf("control group %q: not an absolute, clean path", group)
	}
	var list []Process
	err := filepath.WalkDir(filepath.Join(root, group), func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(data)) {
			if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil && pid > 0 {
				list = append(list, describe(procRoot, pid))
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("processes of control group %q: %w", group, gone(err))
	}
	return list, nil
}

// describe reads the name of a process, which may contain anything, and the state that follows the
// name.
func describe(procRoot string, pid int) Process {
	data, err := os.ReadFile(filepath.Join(procRoot, strconv.Itoa(pid), "stat"))
	begin, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if err != nil || begin < 0 || end < begin || len(data) < end+3 {
		return Process{PID: pid, State: '?'}
	}
	return Process{PID: pid, Name: string(data[begin+1 : end]), State: data[end+2]}
}

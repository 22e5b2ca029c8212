package vm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// A scope is the control group (v2) with the processes of a machine. One write kills all of them.
type scope struct{ path string }

// scopeNamed returns the scope of the machine with the given id. The control group need not exist.
func scopeNamed(id string) (scope, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return scope{}, fmt.Errorf("control groups: %w", err)
	}
	root, ok := cgroup2Mount(string(mounts))
	if !ok {
		return scope{}, errors.New("control groups: this host has no cgroup v2 hierarchy mounted, and a machine needs one")
	}
	return scope{filepath.Join(root, "gpusched-vm-"+id)}, nil
}

// cgroup2Mount returns the mount point of cgroup v2 from /proc/self/mountinfo.
func cgroup2Mount(mountinfo string) (string, bool) {
	for line := range strings.Lines(mountinfo) {
		before, after, ok := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if ok && len(fields) > 4 && strings.HasPrefix(after, "cgroup2 ") {
			return fields[4], true
		}
	}
	return "", false
}

// openGroup creates a group if it is missing, and opens it. Processes can then be started in the
// group.
func (s scope) openGroup(sub string) (*os.File, error) {
	dir := filepath.Join(s.path, sub)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("control group: %w", err)
	}
	f, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("control group: %w", err)
	}
	return f, nil
}

// startIn starts cmd, which must have a SysProcAttr, as a child in the group.
func (s scope) startIn(cmd *exec.Cmd) (*child, error) {
	group, err := s.openGroup("")
	if err != nil {
		return nil, err
	}
	defer group.Close()
	cmd.SysProcAttr.UseCgroupFD = true
	cmd.SysProcAttr.CgroupFD = int(group.Fd())
	return startChild(cmd)
}

// killLimit is the time in which killed processes must end. Only a process that hangs in the kernel
// needs longer.
const killLimit = 20 * time.Second

// remove kills the group's processes and removes the group. A missing group is not an error.
func (s scope) remove() error {
	err := os.WriteFile(filepath.Join(s.path, "cgroup.kill"), []byte("1"), 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = s.awaitEmpty(killLimit)
	}
	if err != nil {
		return fmt.Errorf("control group: kill: %w", err)
	}
	return s.removeTree()
}

// awaitEmpty waits until no process is left in the group or in its subgroups.
func (s scope) awaitEmpty(limit time.Duration) error {
	return await.Until(context.Background(), "the end of the processes of "+s.path, limit, 10*time.Millisecond,
		func(context.Context) (string, bool, error) {
			events, err := os.ReadFile(filepath.Join(s.path, "cgroup.events"))
			return fmt.Sprint(strings.Fields(string(events))), strings.Contains(string(events), "populated 0"), err
		})
}

// removeTree removes the directories of the group and its subgroups, subgroups first.
func (s scope) removeTree() error {
	var dirs []string
	err := filepath.WalkDir(s.path, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("control group: %w", err)
	}
	for _, dir := range slices.Backward(dirs) {
		if err := syscall.Rmdir(dir); err != nil && !errors.Is(err, syscall.ENOENT) {
			return fmt.Errorf("control group: remove %s: %w", dir, err)
		}
	}
	return nil
}

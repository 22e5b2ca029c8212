package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/cgroups/v3/cgroup2"
)

// Root is where the version 2 hierarchy is mounted.
const Root = "/sys/fs/cgroup"

// Unknown stands for an amount that the kernel does not tell: its controller is
// not there, or the kernel is too old for the file.
const Unknown = -1

// ErrGone means that the control group is not there (any more).
var ErrGone = errors.New("control group is gone")

// Stats is what a control group used so far.
type Stats struct {
	MemBytes     int64 // now; Unknown
	PeakMemBytes int64 // highest so far; Unknown before Linux 5.19
	CPU          time.Duration
}

// PeakOrNow returns the peak of memory, or what is used now where the kernel
// tells no peak; 0 where it tells neither.
func (s Stats) PeakOrNow() int64 {
	return max(s.PeakMemBytes, s.MemBytes, 0)
}

// Read returns what the control group ("/gpujobs.slice/…", as systemd names
// it) used. ErrGone where it is not there.
func Read(root, group string) (Stats, error) {
	if !strings.HasPrefix(group, "/") || group == "/" || filepath.Clean(group) != group {
		return Stats{}, fmt.Errorf("control group %q: not an absolute, clean path", group)
	}
	m, err := cgroup2.Load(group, cgroup2.WithMountpoint(root))
	if err != nil {
		return Stats{}, fmt.Errorf("control group %q: %w", group, err)
	}
	metrics, err := m.StatFiltered(cgroup2.StatCPU)
	if err != nil {
		return Stats{}, fmt.Errorf("control group %q: %w", group, gone(err))
	}
	dir := filepath.Join(root, group)
	s := Stats{
		MemBytes:     number(dir, "memory.current"),
		PeakMemBytes: number(dir, "memory.peak"),
		CPU:          time.Duration(metrics.GetCPU().GetUsageUsec()) * time.Microsecond,
	}
	if _, err := os.Stat(dir); err != nil { // what is not there reads as nothing used
		return Stats{}, fmt.Errorf("control group %q: %w", group, gone(err))
	}
	return s, nil
}

func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return ErrGone
	}
	return err
}

// number reads one amount. The library reads a file that is not there as 0,
// which would make an unknown peak look like a job that used nothing.
func number(dir, file string) int64 {
	raw, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return Unknown
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
	if err != nil {
		return Unknown
	}
	return n
}

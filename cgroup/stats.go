package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/cgroups/v3/cgroup2"
)

// Root is the mount point of the version 2 hierarchy.
const Root = "/sys/fs/cgroup"

// Unknown means that the kernel does not report the amount: its controller is missing, or the
// kernel is too old.
const Unknown = -1

// ErrGone means that the control group does not exist (any more).
var ErrGone = errors.New("control group is gone")

// Stats is what a control group has used so far.
type Stats struct {
	MemBytes     int64 // current; may be Unknown
	PeakMemBytes int64 // Unknown before Linux 5.19
	CPU          time.Duration
}

// PeakOrNow returns the peak memory. If that is unknown it returns the current memory, or else 0.
func (s Stats) PeakOrNow() int64 {
	return max(s.PeakMemBytes, s.MemBytes, 0)
}

// Read returns what the control group has used. The group is named as systemd names it
// ("/gpujobs.slice/…"). The error is ErrGone if there is no such group.
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
		MemBytes:     readNumber(dir, "memory.current"),
		PeakMemBytes: readNumber(dir, "memory.peak"),
		CPU:          time.Duration(metrics.GetCPU().GetUsageUsec()) * time.Microsecond,
	}
	if _, err := os.Stat(dir); err != nil { // a missing group reads as zero
		return Stats{}, fmt.Errorf("control group %q: %w", group, gone(err))
	}
	return s, nil
}

// Unreclaimable returns the memory that the processes of a control group use, without the pages of
// files, which the kernel drops when the group needs the memory. It returns 0 if that is unknown.
func Unreclaimable(root, group string) int64 {
	dir := filepath.Join(root, group)
	used, files := readNumber(dir, "memory.current"), filePages(dir)
	if used == Unknown || files == Unknown {
		return 0
	}
	return max(used-files, 1)
}

// filePages returns the memory of a group that contains pages of files.
func filePages(dir string) int64 { return readSum(dir, "memory.stat", "active_file", "inactive_file") }

func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return ErrGone
	}
	return err
}

// readSum adds up the amounts with the given keys in a file whose lines are a key and an amount.
func readSum(dir, file string, keys ...string) (sum int64) {
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return Unknown
	}
	for line := range strings.Lines(string(text)) {
		if key, amount, _ := strings.Cut(strings.TrimSpace(line), " "); slices.Contains(keys, key) {
			n, _ := strconv.ParseInt(amount, 10, 64)
			sum += n
		}
	}
	return sum
}

// readNumber reads one amount itself, because the library reads a missing file as 0. With 0 for an
// unknown peak, the job would seem to have used nothing.
func readNumber(dir, file string) int64 {
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

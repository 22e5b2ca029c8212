package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gpusched/gpusched/contrib/bench/ratios"
)

// move is how long the kernel takes to move a process into a control group after a rest, in seconds. By default it
// waits until every CPU has been somewhere else (a grace period of RCU), unless another process was moved some
// milliseconds ago: 5 to 15 ms, which are as much as all else in the start of a unit. Where the control groups are
// mounted with favordynmods it does not wait. What systemd starts before version 256 or so is moved, so who
// compares two runs has to know. We are moved to where we are.
func move(ctx context.Context) (time.Duration, error) {
	const times, rest = 5, 100 * time.Millisecond
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return 0, err
	}
	_, group, _ := strings.Cut(strings.TrimSpace(string(own)), "0::")
	procs := filepath.Join("/sys/fs/cgroup", group, "cgroup.procs")
	var took []float64
	for range times {
		if err := pause(ctx, rest); err != nil {
			return 0, err
		}
		from := time.Now()
		if err := os.WriteFile(procs, []byte("0"), 0); err != nil {
			return 0, fmt.Errorf("move a process to %s: %w", group, err)
		}
		took = append(took, time.Since(from).Seconds())
	}
	return time.Duration(ratios.Median(took) * float64(time.Second)), nil
}

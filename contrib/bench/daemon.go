package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// daemon measures the daemon idle and with a long queue.
func (b *rig) daemon(ctx context.Context, queued int, idle time.Duration) error {
	if _, err := run(ctx, "systemctl", "restart", "gpusched"); err != nil {
		return err
	}
	if _, err := run(ctx, "gpusched", "version"); err != nil {
		return err
	}
	pid, err := mainPID(ctx)
	if err != nil {
		return err
	}
	before, switches, err := cpuTime(pid)
	if err != nil {
		return err
	}
	if err := pause(ctx, idle); err != nil {
		return err
	}
	after, switchesAfter, err := cpuTime(pid)
	if err != nil {
		return err
	}
	fmt.Print("\n| the daemon | |\n|---|---|\n")
	row("resident memory, idle", residentMemory(pid))
	row(fmt.Sprintf("CPU time over %s idle", idle), fmt.Sprintf("%s, %d switches", (after-before).String(),
		switchesAfter-switches))
	return b.submissions(ctx, queued)
}

// submissions measures durable submissions, by clients and over the socket.
func (b *rig) submissions(ctx context.Context, queued int) error {
	if err := b.ours().close(ctx); err != nil {
		return err
	}
	from := time.Now()
	script := fmt.Sprintf("seq %d | xargs -P 8 -n 1 sh -c 'gpusched submit -q --env clean -- true' >/dev/null", queued/10)
	if _, _, err := b.loop(ctx, 1, script); err != nil {
		return err
	}
	row(fmt.Sprintf("durable submissions, %d by 8 processes at once", queued/10),
		fmt.Sprintf("%.0f per second", float64(queued/10)/time.Since(from).Seconds()))
	rate, err := b.submitOverSocket(ctx, queued-queued/10, 1000, "true")
	if err != nil {
		return err
	}
	row(fmt.Sprintf("durable submissions, %d over 16 connections", queued-queued/10), fmt.Sprintf("%.0f per second", rate))
	if err := b.emptied(ctx); err != nil {
		return err
	}
	return b.ours().open(ctx)
}

func residentMemory(pid string) string {
	bytes, err := resident(pid)
	if err != nil {
		return err.Error()
	}
	return mebibytes(float64(bytes) / (1 << 20))
}

// resident is the memory of a process that is in use, in bytes.
func resident(pid string) (int64, error) {
	data, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("process %s has no memory", pid)
}

// cpuTime is what a process and its threads used so far, and how often they
// were switched.
func cpuTime(pid string) (time.Duration, int, error) {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, 0, err
	}
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+2:]))
	ticks := 0
	for _, f := range fields[11:13] {
		n, err := strconv.Atoi(f)
		if err != nil {
			return 0, 0, err
		}
		ticks += n
	}
	switches := 0
	tasks, err := os.ReadDir("/proc/" + pid + "/task")
	if err != nil {
		return 0, 0, err
	}
	for _, task := range tasks {
		status, err := os.ReadFile("/proc/" + pid + "/task/" + task.Name() + "/status")
		if err != nil {
			continue // it ended meanwhile
		}
		for line := range strings.SplitSeq(string(status), "\n") {
			if strings.Contains(line, "ctxt_switches:") {
				n, err := strconv.Atoi(strings.Fields(line)[1])
				if err != nil {
					return 0, 0, err
				}
				switches += n
			}
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond, switches, nil
}

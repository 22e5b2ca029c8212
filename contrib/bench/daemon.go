package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// run runs a command as root.
func run(ctx context.Context, argv ...string) (string, error) {
	out, err := await.Output(ctx, commandLimit, argv)
	return strings.TrimSpace(out), err
}

// cli measures whole processes of the CLI.
func (b *rig) cli(ctx context.Context, runs int) error {
	fmt.Print("\n| the CLI, whole process | median, p99 |\n|---|---|\n")
	for _, words := range []string{"/bin/true", "gpusched version", "gpusched list"} {
		if err := b.processes(ctx, runs, words, words); err != nil {
			return err
		}
	}
	return nil
}

// processes measures some runs of a command, each a whole process.
func (b *rig) processes(ctx context.Context, runs int, words, what string) error {
	t, err := timed(runs, func() error {
		_, err := b.as(ctx, strings.Fields(words)...)
		return err
	})
	row(what, t.String())
	return err
}

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
	<-time.After(idle)
	after, switchesAfter, err := cpuTime(pid)
	if err != nil {
		return err
	}
	fmt.Print("\n| the daemon | |\n|---|---|\n")
	row("resident memory, idle", residentMemory(pid))
	row(fmt.Sprintf("CPU time over %s idle", idle), fmt.Sprintf("%s, %d switches", (after-before).String(),
		switchesAfter-switches))
	return b.longQueue(ctx, pid, queued)
}

// longQueue submits many jobs from several processes at once and looks at the
// daemon then.
func (b *rig) longQueue(ctx context.Context, pid string, queued int) error {
	if _, err := run(ctx, "gpusched", "gpu", "pause", "0-3"); err != nil {
		return err
	}
	from := time.Now()
	script := fmt.Sprintf("seq %d | xargs -P 8 -n 1 sh -c 'gpusched submit -q --env clean -- true'", queued/10)
	if _, err := b.as(ctx, "/bin/sh", "-c", script+" >/dev/null"); err != nil {
		return err
	}
	row(fmt.Sprintf("durable submissions, %d by 8 processes at once", queued/10),
		fmt.Sprintf("%.0f per second", float64(queued/10)/time.Since(from).Seconds()))
	rate, err := b.submitOverSocket(ctx, queued-queued/10, 1000, "true")
	if err != nil {
		return err
	}
	row(fmt.Sprintf("durable submissions, %d over 16 connections", queued-queued/10), fmt.Sprintf("%.0f per second", rate))
	row(fmt.Sprintf("resident memory, %d queued", queued), residentMemory(pid))
	if err := b.processes(ctx, 20, "gpusched list -o ids",
		fmt.Sprintf("gpusched list -o ids, %d queued", queued)); err != nil {
		return err
	}
	if _, err := run(ctx, "/bin/sh", "-c", "gpusched cancel --all -y >/dev/null"); err != nil {
		return err
	}
	_, err = run(ctx, "gpusched", "gpu", "resume", "0-3")
	return err
}

func residentMemory(pid string) string {
	data, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return err.Error()
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				return err.Error()
			}
			return fmt.Sprintf("%.1f MiB", float64(kib)/1024)
		}
	}
	return "unknown"
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

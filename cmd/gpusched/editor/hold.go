package editor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/units/contract"
)

// HoldCommand is a hidden command. The jobs that 'gpusched proxy' queues run it. Its argument is
// the time after which an unused job ends.
const HoldCommand = "hold-for-ssh"

const (
	// comeTime is how long a job waits for its first connection.
	comeTime = 5 * time.Minute
	lookTime = 20 * time.Second
	// A job without GPUs counts as in use if it uses more than busyShare of a CPU.
	busyShare = 0.1
)

// Hold waits until the job has been unused for long enough. Then it returns, which ends the job.
func Hold(ctx context.Context, a *cli.App, args []string) error {
	if len(args) != 1 {
		return cli.Usagef("%s takes one word", HoldCommand)
	}
	idle, err := idleTime(args[0])
	if err != nil {
		return err
	}
	group := ownGroup()
	p := &presence{come: min(comeTime, idle), idle: idle, since: time.Now()}
	if err := p.last(ctx, a, group, func() bool { return connected(group) }); err != nil {
		return err
	}
	a.Out.Printf("gpusched: %s\n", p.why())
	return nil
}

func idleTime(word string) (time.Duration, error) {
	idle, err := time.ParseDuration(word)
	if err != nil || idle <= 0 {
		return 0, cli.Usagef("%q is not a time", word)
	}
	return idle, nil
}

// A presence says when a job was last used.
type presence struct {
	come  time.Duration // how long the job waits for its first connection
	idle  time.Duration
	came  bool      // somebody was connected
	since time.Time // nobody has been connected since then
}

// last returns nil once the job has been unused for long enough. The job has the given control
// group.
func (p *presence) last(ctx context.Context, a *cli.App, group string, connected func() bool) error {
	spent, looked := spentBy(group), p.since
	for tick := time.NewTicker(min(lookTime, max(p.idle/4, time.Second))); ; {
		var now time.Time
		select {
		case <-ctx.Done():
			return ctx.Err()
		case now = <-tick.C:
		}
		total := spentBy(group)
		busy := total-spent > time.Duration(busyShare*float64(now.Sub(looked)))
		spent, looked = total, now
		if p.over(now, connected(), unused(ctx, a, busy)) {
			return nil
		}
	}
}

// over reports whether the job is to end. The last argument is the time for which the job's GPUs
// have not been used.
func (p *presence) over(now time.Time, connected bool, unused time.Duration) bool {
	if connected {
		p.came, p.since = true, now
	}
	if !p.came {
		return now.Sub(p.since) >= p.come
	}
	return now.Sub(p.since) >= p.idle && unused >= p.idle
}

func (p *presence) why() string {
	if !p.came {
		return fmt.Sprintf("nobody connected within %s, so the job ends", term.Age(p.come))
	}
	return fmt.Sprintf("nobody was connected and no GPU was used for %s, so the job ends", term.Age(p.idle))
}

// forever is the idle time of a job that has no GPUs and is not busy.
const forever = 1<<63 - 1

// unused returns the time for which the job has not used any of its GPUs. A job without GPUs is in
// use while it is busy. If the scheduler does not answer, the job counts as used.
func unused(ctx context.Context, a *cli.App, busy bool) time.Duration {
	reply, err := api.Show(ctx, a.Client, a.Getenv("GPUSCHED_JOB_ID"), api.JobQuery{})
	if err != nil || len(reply.Job.GPUs) == 0 && busy {
		return 0
	}
	least := time.Duration(forever)
	for _, g := range reply.Job.GPUs {
		least = min(least, g.Idle.Duration())
	}
	return least
}

// ownGroup returns the directory of the job's control group, or "" if it is not known.
func ownGroup() string {
	text, _ := os.ReadFile("/proc/self/cgroup")
	if group := contract.SystemdGroup(string(text)); group != "" {
		return filepath.Join("/sys/fs/cgroup", group)
	}
	return ""
}

// connected reports whether an sshd runs in the job. It returns true if that is not known.
func connected(group string) bool {
	text, err := os.ReadFile(filepath.Join(group, "cgroup.procs"))
	if err != nil || group == "" {
		return true
	}
	for pid := range strings.FieldsSeq(string(text)) {
		if name, _ := os.ReadFile(filepath.Join("/proc", pid, "comm")); strings.HasPrefix(string(name), "sshd") {
			return true
		}
	}
	return false
}

// spentBy returns the CPU time that the job has used.
func spentBy(group string) time.Duration {
	text, _ := os.ReadFile(filepath.Join(group, "cpu.stat"))
	for line := range strings.Lines(string(text)) {
		if word, ok := strings.CutPrefix(strings.TrimSpace(line), "usage_usec "); ok {
			n, _ := strconv.ParseInt(word, 10, 64)
			return time.Duration(n) * time.Microsecond
		}
	}
	return 0
}

package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
	"github.com/gpusched/gpusched/units/retry"
)

// Systemd restarts a crashed daemon after a tenth of a second, so that a single crash or kill costs
// no more time. After repeated crashes the restart should come later, but systemd can't do that
// well: RestartSteps= never forgets a crash (systemd issue 43813) and does not exist before systemd
// 254. So the daemon starts at once, answers requests, and waits before it starts its scheduler.
const (
	crashMemory = time.Hour        // health reports crashes of this time
	crashWindow = 10 * time.Minute // more than crashesFree crashes in this time cause a wait
	crashesFree = 3

	// A process that ends without a report, for example by SIGKILL or for lack of memory, is not
	// counted as a crash. If it had started less than soon after another one, it would be restarted
	// ten times a second, and open the state file each time. The soonPause prevents that.
	soon      = time.Second
	soonPause = 500 * time.Millisecond
)

// errCrashing is why a scheduler that keeps crashing is not started yet.
var errCrashing = errors.New("it crashed over and over")

// crashes are earlier processes that ended by a panic or by systemd's watchdog.
// In both cases the Go runtime writes a report. A process that ended by SIGKILL is not counted.
type crashes struct {
	report string      // path of the newest report
	at     []time.Time // times within crashMemory, oldest first
}

// watchCrashes reads from dir how earlier processes ended. It also makes the runtime write a report
// there if this process crashes. The directory dir survives restarts.
func watchCrashes(dir string, now time.Time) (crashes, error) {
	c := crashes{report: filepath.Join(dir, "crash.last")}
	current, list := filepath.Join(dir, "crash"), filepath.Join(dir, "crashes")
	text, err := os.ReadFile(list)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	for line := range strings.Lines(string(text)) {
		if at, err := time.Parse(time.RFC3339, strings.TrimSpace(line)); err == nil {
			c.at = append(c.at, at)
		}
	}
	if info, err := os.Stat(current); err == nil && info.Size() > 0 {
		c.at = append(c.at, info.ModTime())
		if err := os.Rename(current, c.report); err != nil {
			return c, err
		}
	}
	c.at = slices.DeleteFunc(c.at, func(at time.Time) bool { return now.Sub(at) > crashMemory || at.After(now) })
	text = nil
	for _, at := range c.at {
		text = append(text, at.UTC().Format(time.RFC3339)+"\n"...)
	}
	if err := os.WriteFile(list, text, 0o600); err != nil {
		return c, err
	}
	f, err := os.OpenFile(current, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return c, err
	}
	return c, errors.Join(debug.SetCrashOutput(f, debug.CrashOptions{}), f.Close())
}

// began records in dir that this process has started.
// again is true if another process started within the time soon before and did not end properly.
// The caller must call ended when the process ends properly. The directory dir survives restarts.
func began(dir string, now time.Time) (again bool, ended func()) {
	name := filepath.Join(dir, "began")
	if info, err := os.Stat(name); err == nil {
		again = now.Sub(info.ModTime()).Abs() < soon
	}
	if os.WriteFile(name, nil, 0o600) != nil || os.Chtimes(name, now, now) != nil {
		return false, func() {} // watchCrashes has the same error, and logged it
	}
	return again, func() { _ = os.Remove(name) }
}

// pause returns how long to wait before the scheduler starts.
func (c crashes) pause(now time.Time) time.Duration {
	return retry.After(c.within(crashWindow, now)-crashesFree, firstTry, lastTry)
}

// within returns how many crashes happened within age before now.
func (c crashes) within(age time.Duration, now time.Time) (n int) {
	for _, at := range c.at {
		if now.Sub(at) <= age {
			n++
		}
	}
	return n
}

// check reports crashes in health: each is a bug.
func (c crashes) check(now time.Time) job.Check {
	n := c.within(crashMemory, now)
	if n == 0 {
		return job.Check{Name: "crashes", Health: job.Healthy, Detail: "none of the scheduler's own within the last hour"}
	}
	said := job.Say("detail/check-crashes", times(n), c.at[len(c.at)-1])
	return job.Check{
		Name: "crashes", Health: job.Degraded, Next: "report it, with " + c.report + " (which root can read)",
		Said: &said, Detail: words.Say(said),
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprint(n, " times")
}

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
// only that much time. After repeated crashes the delay should be longer, but systemd can't do that
// well: RestartSteps= never forgets a crash (systemd issue 43813) and needs systemd 254 or newer.
// So the daemon starts at once and answers requests, but waits before it starts its scheduler.
const (
	crashMemory = time.Hour        // health reports crashes that were less than this long ago
	crashWindow = 10 * time.Minute // more than crashesFree crashes within this time cause a wait
	crashesFree = 3

	// A process that ends without a report, for example by SIGKILL or for lack of memory, is not
	// counted as a crash. Systemd would restart such processes ten times a second, and each would
	// open the state file. So a process that starts less than a second after another waits for the
	// time soonPause.
	soon      = time.Second
	soonPause = 500 * time.Millisecond
)

// errCrashing says why the scheduler is not started yet after several crashes.
var errCrashing = errors.New("it crashed over and over")

// crashes are earlier processes that ended by a panic or by systemd's watchdog.
// In both cases the Go runtime writes a report. A process that ended by SIGKILL is not counted.
type crashes struct {
	report string      // path of the newest report
	at     []time.Time // times within crashMemory, oldest first
}

// watchCrashes reads from dir how earlier processes ended. If this process crashes, the Go runtime
// writes a report there. The directory dir survives restarts.
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

// markStart records in dir that this process has started. The result soonAgain is true if another
// process started within the last second and did not end properly. The caller must call markEnd
// when this process ends properly. The directory dir survives restarts.
func markStart(dir string, now time.Time) (soonAgain bool, markEnd func()) {
	name := filepath.Join(dir, "began")
	if info, err := os.Stat(name); err == nil {
		soonAgain = now.Sub(info.ModTime()).Abs() < soon
	}
	if os.WriteFile(name, nil, 0o600) != nil || os.Chtimes(name, now, now) != nil {
		return false, func() {} // watchCrashes got the same error and logged it
	}
	return soonAgain, func() { _ = os.Remove(name) }
}

// pause returns how long to wait before the scheduler starts.
func (c crashes) pause(now time.Time) time.Duration {
	return retry.After(c.countSince(crashWindow, now)-crashesFree, firstTry, lastTry)
}

// countSince returns the number of crashes that are at most this old.
func (c crashes) countSince(age time.Duration, now time.Time) (n int) {
	for _, at := range c.at {
		if now.Sub(at) <= age {
			n++
		}
	}
	return n
}

// check returns a health check about recent crashes, because each crash is a bug.
func (c crashes) check(now time.Time) job.Check {
	n := c.countSince(crashMemory, now)
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

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

// systemd restarts a crashed daemon after a tenth of a second, which is what a single crash or kill
// should cost. It can't wait longer after repeated crashes and still be quick after the next single
// one: RestartSteps= never forgets a crash (systemd issue 43813) and does not exist before systemd
// 254. So the daemon itself waits, and answers meanwhile.
const (
	crashMemory = time.Hour        // health reports crashes this long
	crashWindow = 10 * time.Minute // more than crashesFree in this time make it wait
	crashesFree = 3

	// A process that ends without a report, for example by SIGKILL or lack of memory, is not a
	// crash. Without these it would be started, and open the state file, ten times a second.
	soon      = time.Second
	soonPause = 500 * time.Millisecond
)

// errCrashing is the reason why a scheduler that keeps crashing does not start.
var errCrashing = errors.New("it crashed over and over")

// crashes are the ends of earlier processes by a panic or by systemd's watchdog, which makes the
// runtime write a report. A SIGKILL does not count.
type crashes struct {
	report string      // path of the last one's report
	at     []time.Time // within crashMemory, oldest first
}

// watchCrashes reads how earlier processes ended from a directory that survives restarts, and makes
// the runtime write there how this one ends.
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

// began records the start of this process in a directory that survives restarts. It reports whether
// another process started just before and did not end properly, which ended records.
func began(dir string, now time.Time) (again bool, ended func()) {
	name := filepath.Join(dir, "began")
	if info, err := os.Stat(name); err == nil {
		again = now.Sub(info.ModTime()).Abs() < soon
	}
	if os.WriteFile(name, nil, 0o600) != nil || os.Chtimes(name, now, now) != nil {
		return false, func() {} // watchCrashes has logged the same error
	}
	return again, func() { _ = os.Remove(name) }
}

// pause returns the time to wait before the scheduler starts.
func (c crashes) pause(now time.Time) time.Duration {
	return retry.After(c.within(crashWindow, now)-crashesFree, firstTry, lastTry)
}

// within returns the number of crashes in the time before now.
func (c crashes) within(age time.Duration, now time.Time) (n int) {
	for _, at := range c.at {
		if now.Sub(at) <= age {
			n++
		}
	}
	return n
}

// check reports crashes, which are bugs.
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

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

// systemd restarts a daemon that crashed after a tenth of a second, which is what a
// single crash or kill should cost. It can't wait longer for one that crashes
// over and over and still be quick with the next single one: RestartSteps= never
// forgets a crash (systemd issue 43813) and is not in systemd before 254. So the
// daemon, which answers meanwhile, waits itself.
const (
	crashMemory = time.Hour        // health reports crashes so long
	crashWindow = 10 * time.Minute // of these more than crashesFree make it wait
	crashesFree = 3

	// What ends without a report, as by SIGKILL or for want of memory, is no crash, and would else be
	// started, and open the state file, ten times a second.
	soon      = time.Second
	soonPause = 500 * time.Millisecond
)

// errCrashing is why a scheduler that crashed over and over does not begin.
var errCrashing = errors.New("it crashed over and over")

// crashes are those of earlier processes, by a panic or by systemd's watchdog,
// which has the runtime write a report. A SIGKILL is none.
type crashes struct {
	report string      // the last one's
	at     []time.Time // within crashMemory, oldest first
}

// watchCrashes learns from a directory that a restart leaves how earlier
// processes ended, and has the runtime write there how this one does.
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

// began notes in a directory that a restart leaves that this process begins. It reports
// whether another did so just before and never came to its end, which calls ended.
func began(dir string, now time.Time) (again bool, ended func()) {
	name := filepath.Join(dir, "began")
	if info, err := os.Stat(name); err == nil {
		again = now.Sub(info.ModTime()).Abs() < soon
	}
	if os.WriteFile(name, nil, 0o600) != nil || os.Chtimes(name, now, now) != nil {
		return false, func() {} // the log has it, for the list of crashes
	}
	return again, func() { _ = os.Remove(name) }
}

// pause is how long the scheduler is to wait before it begins.
func (c crashes) pause(now time.Time) time.Duration {
	return retry.After(c.within(crashWindow, now)-crashesFree, firstTry, lastTry)
}

// within counts the crashes of the time just before now.
func (c crashes) within(age time.Duration, now time.Time) (n int) {
	for _, at := range c.at {
		if now.Sub(at) <= age {
			n++
		}
	}
	return n
}

// check reports crashes, which are bugs to be reported.
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

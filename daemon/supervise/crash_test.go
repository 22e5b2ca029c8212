package supervise

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// crashOnce simulates a process. The last two arguments are the times of its start and of its
// crash, which leaves a report.
func crashOnce(t *testing.T, dir string, began, ended time.Time) crashes {
	t.Helper()
	c, err := watchCrashes(dir, began)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "crash")
	if err := os.WriteFile(file, []byte("panic: at "+ended.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, ended, ended); err != nil {
		t.Fatal(err)
	}
	return c
}

// A single crash causes no wait. Crashes in quick succession cause longer and longer waits.
// Health reports them for an hour, with the path of the report.
func TestCrashes(t *testing.T) {
	dir := t.TempDir()
	now := time.Now().Truncate(time.Second)
	for n, want := range []time.Duration{0, 0, 0, 0, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, lastTry, lastTry} {
		c := crashOnce(t, dir, now, now.Add(time.Second))
		if got := c.pause(now); got != want {
			t.Errorf("after %d crashes it waits %s, want %s", n, got, want)
		}
		if check := c.check(now); (check.Health == job.Degraded) != (n > 0) || n > 1 && !strings.Contains(check.Detail, times(n)) {
			t.Errorf("after %d crashes: %+v", n, check)
		}
		now = now.Add(2 * time.Second)
	}
	c, err := watchCrashes(dir, now)
	if err != nil || len(c.at) != 10 {
		t.Fatalf("%+v, %v", c, err)
	}
	if text, err := os.ReadFile(c.report); err != nil || !strings.HasPrefix(string(text), "panic: ") {
		t.Errorf("the report is %q, %v", text, err)
	}
	if c.pause(now.Add(crashWindow)) != 0 || c.check(now.Add(crashWindow)).Health != job.Degraded {
		t.Error("crashes of a while ago make it wait, or are not told")
	}
	if check := c.check(now.Add(crashMemory)); check.Health != job.Healthy {
		t.Errorf("an hour later: %+v", check)
	}
	if c, err = watchCrashes(dir, now.Add(2*crashMemory)); err != nil || len(c.at) != 0 {
		t.Errorf("two hours later: %+v, %v", c, err)
	}
}

// A process waits if another process started shortly before and did not end properly. It does not
// wait if that process ended properly, or started long before.
func TestBeginningOverAndOver(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	var ended func()
	for _, c := range []struct {
		after time.Duration
		ends  bool
		again bool
	}{
		{0, false, false}, {300 * time.Millisecond, false, true}, {900 * time.Millisecond, false, true}, {2 * time.Second, true, false},
		{100 * time.Millisecond, false, false}, {-100 * time.Millisecond, false, true}, {-time.Hour, false, false},
	} {
		now = now.Add(c.after)
		var again bool
		if again, ended = markStart(dir, now); again != c.again {
			t.Errorf("%s later: waits: %v", c.after, again)
		}
		if c.ends {
			ended()
		}
	}
	if again, _ := markStart(filepath.Join(dir, "none"), now); again {
		t.Error("it waits where nothing can be noted")
	}
}

// If the file with the list of crashes contains anything other than past times, that content is
// ignored. A process that ended without a report is not a crash.
func TestCrashesFromABrokenList(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	list := "x\n\n" + now.Add(time.Hour).Format(time.RFC3339) + "\n" + now.Add(-time.Minute).Format(time.RFC3339)
	if err := os.WriteFile(filepath.Join(dir, "crashes"), []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if c, err := watchCrashes(dir, now); err != nil || len(c.at) != 1 {
			t.Errorf("%+v, %v", c, err)
		}
	}
	if _, err := watchCrashes(filepath.Join(dir, "none"), now); err == nil {
		t.Error("a directory that is not there is no error")
	}
}

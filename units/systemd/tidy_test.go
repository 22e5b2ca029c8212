package systemd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/gpusched/gpusched/units"
)

// unitFiles returns a directory like systemd's, with the files of some units.
func unitFiles(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func filesIn(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// loadedUnits answers with the units that systemd has.
func loadedUnits(names ...string) func(string, []any) ([]any, *dbus.Error) {
	return func(method string, _ []any) ([]any, *dbus.Error) {
		type unit struct {
			Name, Description, Load, Active, Sub, Followed string
			Path                                           dbus.ObjectPath
			JobID                                          uint32
			JobType                                        string
			Job                                            dbus.ObjectPath
		}
		list := []unit{}
		for _, name := range names {
			list = append(list, unit{Name: name, Load: "loaded", Path: "/", Job: "/"})
		}
		if method == "ListUnitsByPatterns" {
			return []any{list}, nil
		}
		return nil, nil
	}
}

// Only files of jobs whose unit is gone are removed, and only some time after the unit was first
// found to be gone (invariant 8).
func TestTidy(t *testing.T) {
	const ours, running, others = "log-extra-fields:gpujob-7.service", "log-extra-fields:gpujob-8.service",
		"invocation:gpujob-7.service log-extra-fields:cron.service log-extra-fields:gpujob-07.service log-extra-fields:gpujob-x.service"
	dir := unitFiles(t, append(strings.Fields(others), ours, running)...)
	synctest.Test(t, func(t *testing.T) {
		m := newFakeBus(t, loadedUnits("gpujob-8.service")).manager()
		m.tidy.dir = dir
		for range int(fieldsKept/time.Minute) + 1 {
			if got := filesIn(t, dir); !strings.Contains(got, ours) {
				t.Fatalf("it was removed too early: %s", got)
			}
			if err := m.Tidy(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		want := append(strings.Fields(others), running)
		slices.Sort(want)
		if got := filesIn(t, dir); got != strings.Join(want, " ") {
			t.Errorf("left are %s", got)
		}
		m.tidy.dir = filepath.Join(dir, "none")
		if err := m.Tidy(t.Context(), time.Now()); err != nil {
			t.Error(err)
		}
	})
}

// After a unit has stopped, the files that switch off its rate limit remain as long as journald may
// still have lines of the unit to read.
func TestNoRateLimitAfterTheEnd(t *testing.T) {
	dir := unitFiles(t)
	synctest.Test(t, func(t *testing.T) {
		list := loadedUnits()
		m := newFakeBus(t, func(method string, args []any) ([]any, *dbus.Error) {
			if method == "StopUnit" {
				return nil, noSuchUnit()
			}
			return list(method, args)
		}).manager()
		m.tidy.dir = dir
		name := units.Name(7)
		if err := m.Stop(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		for file, want := range map[string]string{"log-rate-limit-interval:": "1000000", "log-rate-limit-burst:": "1000000000"} {
			if got, err := os.Readlink(filepath.Join(dir, file+name)); err != nil || got != want {
				t.Errorf("%s: %q, %v", file, got, err)
			}
		}
		for range int(fieldsKept/time.Minute) + 1 {
			if got := filesIn(t, dir); strings.Count(got, name) != 2 {
				t.Fatalf("left are %q", got)
			}
			if err := m.Tidy(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		if got := filesIn(t, dir); got != "" {
			t.Errorf("left are %q", got)
		}
	})
}

// The file of a restarted unit stays, even if the list of units is older than the start.
func TestTidyLeavesAStart(t *testing.T) {
	ty := &tidy{dir: unitFiles(t, fieldsPrefix+units.Name(7)), since: map[string]time.Time{}}
	have, now := []string{units.Name(7)}, time.Now()
	sweep := func(now time.Time) string {
		t.Helper()
		if err := ty.sweep(have, nil, now); err != nil {
			t.Fatal(err)
		}
		return filesIn(t, ty.dir)
	}
	sweep(now)
	ty.noteStart(units.Name(7))
	if got := sweep(now.Add(time.Hour)); got == "" {
		t.Error("the file of a start was removed")
	}
	if got := sweep(now.Add(2 * time.Hour)); got != "" {
		t.Errorf("left is %s", got)
	}
}

// If there are very many files, the oldest are removed before their time.
func TestTidyIsBounded(t *testing.T) {
	ty := &tidy{dir: t.TempDir(), since: map[string]time.Time{}}
	now := time.Now()
	var have []string
	for id := range maxFields + 10 {
		have = append(have, units.Name(int64(id+1)))
	}
	for range 2 {
		if err := ty.sweep(have, nil, now); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(ty.since); n != maxFields {
		t.Errorf("%d wait", n)
	}
}

// If files can't be removed, one error reports all of them, and Tidy tries again later.
func TestTidyTellsWhatStays(t *testing.T) {
	dir := unitFiles(t)
	stuck := filepath.Join(dir, fieldsPrefix+units.Name(1), "below")
	if err := os.MkdirAll(stuck, 0o755); err != nil {
		t.Fatal(err)
	}
	ty := &tidy{dir: dir, since: map[string]time.Time{}}
	have, now := []string{units.Name(1)}, time.Now()
	for n, wrong := range []bool{false, true, true, false} {
		if n == 3 {
			os.Remove(stuck)
		}
		if err := ty.sweep(have, nil, now.Add(time.Duration(n)*fieldsKept)); (err != nil) != wrong {
			t.Errorf("sweep %d: %v", n, err)
		}
	}
}

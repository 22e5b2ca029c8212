package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// The user's own scheduler is asked if the user names it, or if there is no other.
func TestWhichScheduler(t *testing.T) {
	dir := t.TempDir()
	machine, own := filepath.Join(dir, "machine.sock"), filepath.Join(dir, "gpusched", "gpusched.sock")
	enabled, uid := filepath.Join(dir, "enabled"), os.Getuid()
	socket := ""
	getenv := func(name string) string {
		return map[string]string{"XDG_RUNTIME_DIR": dir, "GPUSCHED_SOCKET": socket}[name]
	}
	check := func(when, want string, isOwn bool) {
		t.Helper()
		if c := ClientFor(getenv, uid, machine, enabled); c.Socket != want || c.Own != isOwn {
			t.Errorf("%s: %q, own %v", when, c.Socket, c.Own)
		}
	}
	check("none is there", "", false)
	if err := os.Mkdir(filepath.Dir(own), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{own, machine} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if path == own {
			check("the user's alone", own, true)
			uid++
			check("another's", "", false)
			if _, err := (&App{Env: Env{Getenv: getenv, UID: uid}}).CutOwn([]string{"--user"}); err == nil || !strings.Contains(err.Error(), "not to you") {
				t.Errorf("another's, by name: %v", err)
			}
			uid--
			if err := os.WriteFile(enabled, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			check("the machine's is stopped", "", false)
		}
	}
	check("both", "", false)
	socket = own
	check("named", own, true)
	socket = "/elsewhere"
	check("another is named", "/elsewhere", false)

	a := &App{Env: Env{Getenv: getenv, UID: uid}}
	if rest, err := a.CutOwn([]string{"--user", "list", "--user", "alice"}); err != nil || !slices.Equal(rest, []string{"list", "--user", "alice"}) ||
		a.Daemon().Socket != own || !a.Daemon().Own {
		t.Errorf("%q, %+v", rest, a.Client)
	}
	for text, want := range map[string]string{
		"see 'gpusched list -a' and 'gpusched --on local health'":              "see 'gpusched --user list -a' and 'gpusched --on local health'",
		"see 'gpusched list --on slurm' and 'sacct'":                           "see 'gpusched list --on slurm' and 'sacct'",
		"use 'gpusched cancel --user bob', 'gpusched show slurm:3', 'gpusched": "use 'gpusched --user cancel --user bob', 'gpusched show slurm:3', 'gpusched",
	} {
		if got := a.AsTyped(text); got != want {
			t.Error(got)
		}
	}
	if got := ownSocket(func(string) string { return "" }, 7); got != "/run/user/7/gpusched/gpusched.sock" {
		t.Error(got)
	}
}

// Attempts of a job under a user's own systemd are told apart by their times.
func TestAttemptsOfAUsersSystemdAreFoundByTime(t *testing.T) {
	at := time.Unix(100, 5000)
	j := api.Job{ID: 3, UID: 7, Unit: "gpujob-3.service", Manager: api.UserManager, Attempt: 2}
	first := api.Attempt{Attempt: job.Attempt{Number: 1, PlacedAt: at, EndedAt: at.Add(time.Minute)}}
	second := api.Attempt{Attempt: job.Attempt{Number: 2, PlacedAt: at.Add(2 * time.Minute)}}
	match := []string{"SYSLOG_IDENTIFIER=user-gpujob-3", "_UID=7", "+", "_SYSTEMD_USER_UNIT=gpujob-3.service", "_UID=7"}
	for name, c := range map[string]struct {
		got  []string
		want []string
	}{
		"an earlier one":   {AttemptLines(j, first), []string{"--since=@100.000005", "--until=@160.500005"}},
		"the last one":     {AttemptLines(j, second), []string{"--since=@220.000005"}},
		"all of the job's": {AllLines(api.Job{ID: 3, UID: 7, Unit: j.Unit, Manager: j.Manager, SubmittedAt: at}), []string{"--since=@100.000005"}},
	} {
		if want := append(c.want, match...); !slices.Equal(c.got, want) {
			t.Errorf("%s: %q, want %q", name, c.got, want)
		}
	}
	if got := AllLines(api.Job{ID: 3}); !slices.Equal(got, []string{"_SYSTEMD_UNIT=gpujob-3.service"}) {
		t.Errorf("of the machine's: %q", got)
	}
	want := []string{"--since=@13600.000005", "_SYSTEMD_UNIT=gpujob-3.service"}
	if got := AllLines(api.Job{ID: 3, SubmittedAt: at.Add(setBack + 13500*time.Second)}); !slices.Equal(got, want) {
		t.Errorf("of the machine's, not what is much older: %q, want %q", got, want)
	}
}

// For a job of a user's own scheduler, 'gpusched show' names the systemd that runs the job's unit,
// and the limits that are not enforced.
func TestShowNamesUnenforcedLimits(t *testing.T) {
	j := api.Job{Unit: "gpujob-3.service", Manager: api.UserManager, NotEnforced: []string{"devices", "mem", "cpus", "tasks", "of a later release"}}
	if got := NotEnforced(j); len(got) < 100 || NotEnforced(api.Job{}) != "" {
		t.Error(got)
	}
	if got := UnitLine(j); got != "gpujob-3.service (systemctl --user)" || UnitLine(api.Job{Unit: "x"}) != "x" {
		t.Error(got)
	}
}

package look

import (
	"bufio"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// A part whose health is Limited is listed, but the command does not fail because of it. If several
// parts have the same advice, the advice is printed once.
func TestLimitedHealthDoesNotFail(t *testing.T) {
	checks := []job.Check{
		{Name: "state", Health: job.Healthy}, {Name: "limits", Health: job.Degraded, Detail: "not enforced", Next: "boot with it"},
		{Name: "gpu 1 drain", Health: job.Limited, Detail: "drained by root (fan)", Next: "'gpusched gpu undrain 1' takes it back"},
		{Name: "cgroups", Health: job.Degraded, Detail: "version 2, without: memory", Next: "boot with it"},
	}
	show := func(checks []job.Check, tty, quiet bool) (string, error) {
		var out strings.Builder
		w := bufio.NewWriter(&out)
		a := &cli.App{Env: cli.Env{Out: &term.Terminal{W: w, TTY: tty, Width: 100}}}
		err := ShowHealth(a, cli.OutputFlags{}, quiet, "health", api.HealthReply{Health: job.Worst(checks), Checks: checks})
		w.Flush()
		return out.String(), err
	}
	text, err := show(checks, false, false)
	if err == nil || strings.Count(text, "boot with it") != 1 || !strings.Contains(text, "  limits, cgroups: boot with it\n") || !strings.Contains(text, "LIMITED") {
		t.Errorf("%v\n%s", err, text)
	}
	text, err = show(checks, true, false)
	if err == nil || !strings.HasPrefix(text, "DEGRADED, 2 of 4 parts not healthy, 1 limited\n") || !strings.Contains(text, "drained by root (fan)") {
		t.Errorf("%v\n%s", err, text)
	}
	limited := []job.Check{checks[0], checks[2]}
	if text, err = show(limited, true, false); err != nil || !strings.HasPrefix(text, "HEALTHY, 1 of 2 parts limited\n") || !strings.Contains(text, "undrain 1") {
		t.Errorf("%v\n%s", err, text)
	}
	if text, err = show(limited, false, true); err != nil || text != "" {
		t.Errorf("with -q: %v\n%s", err, text)
	}
}

// A bug report says how many jobs there are.
func TestReportCountsJobs(t *testing.T) {
	if got := api.CountLine(map[job.State]int{"queued": 5, "running": 4}); got != "4 running, 5 queued" {
		t.Errorf("got %q", got)
	}
}

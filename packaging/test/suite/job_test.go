//go:build machine

package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/packaging/test/await"
)

// settings sets lines of TOML as the daemon's settings until
// the test ends. They replace the lines of an earlier call.
func settings(t *testing.T, lines string) {
	t.Helper()
	const file = "/etc/gpusched/conf.d/90-suite.toml"
	sh(t, "", "mkdir -p /etc/gpusched/conf.d; cat > "+file+" <<'END'\n"+lines+"\nEND\ngpusched config check >/dev/null && systemctl restart gpusched")
	t.Cleanup(func() { sh(t, "", "rm -f "+file+"; systemctl restart gpusched") })
}

// quickSampling makes the daemon sample the GPUs five
// times a second, so that it notices changes soon.
const quickSampling = "[gpus]\nsample_interval = \"200ms\""

// gpusSeen waits until a daemon that has just started has sampled the GPUs. Until then the daemon
// acts as on a machine without GPUs.
func gpusSeen(t *testing.T) {
	t.Helper()
	poll(t, "the GPUs are seen", func() bool { return strings.Contains(try(t, "", "gpusched gpus").Stdout, "A100") })
}

// askWhy returns what 'gpusched why' tells a user about a job.
func askWhy(t *testing.T, user string, id int64) string {
	t.Helper()
	return sh(t, user, fmt.Sprintf("gpusched why %d", id))
}

// mustFail runs a command line as user. It checks the exit status, and checks that the command line
// prints the argument text on stderr.
func mustFail(t *testing.T, user, line string, code int, text string) {
	t.Helper()
	if r := try(t, user, line); r.Code != code || !strings.Contains(r.Stderr, text) {
		t.Errorf("%s: %q exits %d, want %d with %q: %s%s", who(user), line, r.Code, code, text, r.Stdout, r.Stderr)
	}
}

// waitsFor checks that a job is queued and that 'gpusched why' prints the argument text. It first
// waits until the daemon has sampled the GPUs.
func waitsFor(t *testing.T, user string, id int64, text string) {
	t.Helper()
	poll(t, fmt.Sprintf("why says of job %d %q", id, text), func() bool {
		return strings.Contains(askWhy(t, user, id), text)
	})
	if j := show(t, user, id); j.State != "queued" {
		t.Errorf("job %d is %s, and should wait: %q", id, j.State, text)
	}
}

// cancel cancels jobs and waits for their ends.
func cancel(t *testing.T, user string, ids ...int64) {
	t.Helper()
	for _, id := range ids {
		sh(t, user, fmt.Sprintf("gpusched cancel %d", id))
	}
	for _, id := range ids {
		mustEnd(t, wait(t, id), "cancelled", "cancelled by "+who(user))
	}
}

// submit queues a job for a user and returns the job's id. The argument args contains shell words:
// options, then --, then the command.
func submit(t *testing.T, user, args string) int64 {
	t.Helper()
	var id int64
	if out := sh(t, user, "gpusched submit -q "+args); out != "" {
		if _, err := fmt.Sscan(out, &id); err != nil {
			t.Fatalf("submit printed %q", out)
		}
	}
	return id
}

// submitHold submits a job and returns when the job runs. The job waits for a call of release, then
// runs the given shell command, and ends. Each user can have only one such job at a time.
func submitHold(t *testing.T, user, opts, then string) (id int64, release func()) {
	t.Helper()
	sh(t, user, "rm -f ~/end")
	id = submit(t, user, opts+" -- bash -c 'while [ ! -e ~/end ]; do sleep 0.1; done; "+then+"'")
	waitRun(t, id)
	return id, func() { t.Helper(); sh(t, user, "touch ~/end") }
}

// ask returns the JSON document that a command prints.
func ask[T any](t *testing.T, user, command string) (r T) {
	t.Helper()
	if err := json.Unmarshal([]byte(sh(t, user, command)), &r); err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return r
}

// show returns a job as the given user sees it.
func show(t *testing.T, user string, id int64) api.Job {
	t.Helper()
	return ask[api.JobReply](t, user, fmt.Sprintf("gpusched show --json %d", id)).Job
}

// wait waits until a job has ended and returns the job.
func wait(t *testing.T, id int64) api.Job {
	t.Helper()
	try(t, "", fmt.Sprintf("gpusched wait --timeout %d %d", 60*the.slow, id))
	j := show(t, "", id)
	if j.Result == nil {
		t.Fatalf("job %d does not end: %+v", id, j)
	}
	return j
}

// poll calls the given function again and again until the function returns true, for at most 30 s,
// or longer on a slow machine. The pauses grow from 20 to 100 ms. After a slow call the pause is
// four times as long as the call, but at most a second, because other boxes need the CPUs too.
func poll(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // cleanups call poll when the test's context has already ended
	begun := time.Now()
	var took time.Duration
	pause := func(ctx context.Context) error {
		usual := min(max(time.Since(begun)/10, 20*time.Millisecond), 100*time.Millisecond) * the.slow
		select {
		case <-time.After(max(usual, min(4*took, time.Second))):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := await.Watch(ctx, what, 30*time.Second*the.slow, pause, func(context.Context) (string, bool, error) {
		looked := time.Now()
		held, seen := done(), "nothing"
		took = time.Since(looked)
		if last := the.lastOutcome.Load(); last != nil {
			seen = *last
		}
		return seen, held, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// waitRun waits until a job's command runs.
func waitRun(t *testing.T, id int64) {
	t.Helper()
	poll(t, fmt.Sprintf("job %d runs", id), func() bool {
		j := show(t, "", id)
		if j.Result != nil {
			t.Fatalf("job %d ended: %s", id, j.Result.Sentence)
		}
		if j.State == "running" {
			return true
		}
		try(t, "", fmt.Sprintf("gpusched why %d; gpusched gpus", id)) // an error of poll quotes what these commands print
		return false
	})
}

// output returns the text that a job's command printed,
// without the lines of systemd and the daemon.
func output(t *testing.T, user string, id int64) string {
	t.Helper()
	return sh(t, user, fmt.Sprintf("journalctl --no-pager -q -o cat -u gpujob-%d _SYSTEMD_UNIT=gpujob-%d.service SYSLOG_IDENTIFIER=gpujob-%d", id, id, id))
}

// waitText waits until a job's output contains the argument text, and returns the output.
func waitText(t *testing.T, id int64, text string) string {
	t.Helper()
	var out string
	poll(t, fmt.Sprintf("job %d prints %q", id, text), func() bool {
		out = output(t, "", id)
		return strings.Contains(out, text)
	})
	return out
}

// mustEnd checks the state of an ended job, and checks that the sentence about its end contains the
// given words.
func mustEnd(t *testing.T, j api.Job, state job.State, sentence string) {
	t.Helper()
	if j.State != state || j.Result == nil || !strings.Contains(j.Result.Sentence, sentence) {
		t.Errorf("job %d is %s: %+v; want %s with %q", j.ID, j.State, j.Result, state, sentence)
	}
}

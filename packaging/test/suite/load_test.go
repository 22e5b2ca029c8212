//go:build machine

package suite

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/packaging/test/await"
)

// witness is a job that records each start of its command in /run/witness/began/ID. It also records
// each GPU on which it is not alone. For this there are two locks for each GPU. A job with a whole
// GPU takes both locks, and a job with half a GPU takes one of them. The job has its locks until
// its last process ends.
const witness = `#!/bin/bash
echo "attempt $GPUSCHED_ATTEMPT" >> /run/witness/began/$GPUSCHED_JOB_ID
for gpu in ${GPUSCHED_GPU_IDS//,/ }; do
  got=0
  for half in 0 1; do
    exec {fd}<>/run/witness/gpu$gpu.$half
    if flock -n $fd; then got=$((got + 1)); [ $GPUSCHED_GPU_SHARE = 0.5 ] && break; else exec {fd}>&-; fi
  done
  [ $got = $([ $GPUSCHED_GPU_SHARE = 0.5 ] && echo 1 || echo 2) ] || echo "job $GPUSCHED_JOB_ID is not alone on GPU $gpu ($GPUSCHED_GPU_SHARE)" >> /run/witness/taken
done
echo "witness $GPUSCHED_JOB_ID"
sleep 0.$((RANDOM % 3))$((RANDOM % 10))
exit $1
`

// load is a stream of jobs that two accounts submit while something goes wrong. It records the
// acknowledged jobs. alice submits with the gpusched command, and some of the submitting processes
// are killed. All jobs name the GPUs among which they choose. Otherwise a GPU on which several of
// them fail in a row would be suspect, and the last of them would be queued again. bob submits with packaging/test/loadgen, which cuts off some requests and repeats
// them with the same key.
type load struct {
	mu    sync.Mutex
	acked map[string]int64 // ids of acknowledged jobs, by name
	done  sync.WaitGroup
	count int   // number of jobs of each account
	after int64 // id of the last job before the load
}

// startLoad installs the witness and the load generator. The two accounts then start to submit the
// given number of jobs each, with a pause after each job.
func startLoad(t *testing.T, count int, pause time.Duration) *load {
	t.Helper()
	installLoadgen(t)
	sh(t, "", "rm -rf /run/witness; mkdir -p /run/witness/began; chmod 1777 /run/witness/began; cd /run/witness; touch taken gpu{0..3}.{0,1}; chmod 666 taken gpu*")
	l := &load{acked: map[string]int64{}, count: count}
	for _, j := range allJobs(t) {
		l.after = max(l.after, int64(j.ID))
	}
	cli := fmt.Sprintf(`for n in $(seq %d); do
  gpu="-g 0"; [ $((n %% 3)) != 2 ] || gpu="-g 1 --gpus-from 0-3"
  submit="gpusched submit -q --env clean --name alice-$n $gpu -- /usr/local/bin/witness $((n %% 5))"
  if [ $((n %% 7)) = 0 ]; then id=$(timeout -s KILL 0.0$((1 + RANDOM %% 30)) $submit 2>/dev/null) || true; else id=$($submit) || exit 1; fi
  [ -z "$id" ] || echo alice-$n $id
  sleep %f
done`, count, pause.Seconds())
	l.submit(t, "alice", "bash", "-c", cli)
	l.submit(t, "bob", "loadgen", "-pace", pause.String(), "bob", fmt.Sprint(count), "/usr/local/bin/witness", "{code}")
	return l
}

// installLoadgen installs the witness and the load generator in the machine.
func installLoadgen(t *testing.T) {
	t.Helper()
	installProgram(t, "../loadgen", "/usr/local/bin/loadgen")
	if err := the.WriteFile(t.Context(), "/usr/local/bin/witness", witness, 0o755); err != nil {
		t.Fatal(err)
	}
}

// submit runs a command in the background and records the jobs that it prints: the name and id of
// each acknowledged job. The command must succeed.
func (l *load) submit(t *testing.T, user string, argv ...string) {
	t.Helper()
	ctx, stop := await.For(t.Context(), "the submissions of "+user, 5*time.Minute*the.slow)
	end := l.stream(ctx, t, user, argv...)
	l.done.Go(func() {
		defer stop()
		if err := <-end; err != nil {
			t.Errorf("%s's submissions: %v", user, err)
		}
	})
}

// stream is like submit, but its command may fail. If it does, the channel receives the error.
func (l *load) stream(ctx context.Context, t *testing.T, user string, argv ...string) <-chan error {
	t.Helper()
	cmd := the.Command(ctx, user, argv...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.done.Wait) // when cleanups run, the test's context is already cancelled
	end := make(chan error, 1)
	l.done.Go(func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			l.acknowledged(t, lines.Text())
		}
		if err := cmd.Wait(); err != nil {
			end <- fmt.Errorf("%w: %s; seen last: %d acknowledged", await.Cause(ctx, err), stderr.String(), len(l.acknowledgedJobs()))
		}
		close(end)
	})
	return end
}

func (l *load) acknowledged(t *testing.T, line string) {
	var name string
	var id int64
	if _, err := fmt.Sscan(line, &name, &id); err != nil {
		t.Errorf("an acknowledgement is %q: %v", line, err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked[name] = id
}

// acknowledgedJobs returns the jobs that have been acknowledged so far.
func (l *load) acknowledgedJobs() map[string]int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.acked)
}

// wait waits until all jobs have been submitted.
func (l *load) wait() map[string]int64 {
	l.done.Wait()
	return l.acknowledgedJobs()
}

// expectedStatus returns the exit status that a job with this name must have.
func expectedStatus(name string) int {
	var n int
	_, number, _ := strings.Cut(name, "-")
	fmt.Sscan(number, &n)
	return n % 5
}

// checkAll waits until all jobs of the load have ended and checks them. The argument killed
// contains the jobs in which the test killed a process; these jobs may have failed.
func (l *load) checkAll(t *testing.T, killed map[int64]bool) {
	t.Helper()
	acked := l.wait()
	awaitDrained(t)
	found := map[string]api.Job{}
	for _, j := range allJobs(t) {
		if account, _, _ := strings.Cut(j.Name, "-"); int64(j.ID) <= l.after || account != j.User {
			continue // a job of another test
		}
		if twin, twice := found[j.Name]; twice && twin.ID != j.ID {
			t.Errorf("%s was queued twice, as %d and %d", j.Name, twin.ID, j.ID)
		}
		found[j.Name] = j
	}
	for _, name := range slices.Sorted(maps.Keys(acked)) {
		if j, ok := found[name]; !ok || int64(j.ID) != acked[name] {
			t.Errorf("%s was acknowledged as job %d and is lost: %+v", name, acked[name], j)
		}
	}
	if len(acked) < 2*l.count-l.count/7 {
		t.Errorf("%d of %d jobs were acknowledged", len(acked), 2*l.count)
	}
	l.judgeEnds(t, found, killed)
	if taken := sh(t, "", "cat /run/witness/taken"); taken != "" {
		t.Errorf("GPUs were given twice:\n%s", taken)
	}
	if left := sh(t, "", "systemctl list-units --all --no-legend 'gpujob-*'"); left != "" {
		t.Errorf("units are left:\n%s", left)
	}
	t.Logf("%d jobs were acknowledged, %d are known", len(acked), len(found))
}

// judgeEnds checks that each job ended once, with the exit status that its command should have, and
// that its command began once. The daemon may queue a job again only before it asks systemd to
// start the job.
func (l *load) judgeEnds(t *testing.T, found map[string]api.Job, hurt map[int64]bool) {
	t.Helper()
	began := map[string]int{} // number of starts, by job id
	for _, file := range strings.Fields(sh(t, "", "cd /run/witness/began; grep -H . -r . | cut -d: -f1")) {
		began[strings.TrimPrefix(file, "./")]++
	}
	for name, j := range found {
		code := expectedStatus(name)
		asSaid := j.Result != nil && j.Result.ExitCode == code && j.Result.Signal == 0 && j.State == map[bool]job.State{true: "completed", false: "failed"}[code == 0]
		byHurt := hurt[int64(j.ID)] && j.State == "failed" && j.Result != nil
		if !byHurt && (!asSaid || j.Requeues > 0) {
			t.Errorf("%s, job %d, is %s in attempt %d: %+v; want exit code %d", name, j.ID, j.State, j.Attempt, j.Result, code)
			t.Log(sh(t, "", fmt.Sprintf("gpusched show %[1]d; journalctl -q -o short-precise | grep -w 'job.%[1]d'", j.ID)))
		}
		if n := began[fmt.Sprint(j.ID)]; n > 1 || n == 0 && !byHurt {
			t.Errorf("the command of %s, job %d, began %d times", name, j.ID, n)
		}
	}
}

// awaitDrained waits until no job is left. It gives up when the number of jobs no longer shrinks.
func awaitDrained(t *testing.T) {
	t.Helper()
	for n := -1; n != 0; {
		poll(t, fmt.Sprintf("fewer than %d jobs are left", n), func() bool {
			r := try(t, "", "gpusched list -o ids")
			left := len(strings.Fields(r.Stdout))
			if r.Code != 0 || n >= 0 && left >= n {
				return false
			}
			n = left
			return true
		})
	}
}

// allJobs returns every job that the daemon knows.
func allJobs(t *testing.T) []api.Job { t.Helper(); return list(t, "-a --ended 10000") }

// list returns the jobs that 'gpusched list' prints with the given options.
func list(t *testing.T, options string) []api.Job {
	t.Helper()
	return ask[api.ListReply](t, "", "gpusched list --json "+options).Jobs
}

//go:build machine

package suite

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestSchedulerFractions: two jobs share a GPU, half each, and
// both can open it. A third job waits until its part is free.
func TestSchedulerFractions(t *testing.T) {
	begin(t)
	hold := "-g 0.5 --gpus-from 0 -- " + fmt.Sprintf(probe, "sleep 1000")
	a, b := submit(t, "alice", hold), submit(t, "bob", hold)
	for _, id := range []int64{a, b} {
		if out := waitText(t, id, "probed"); nodes(out) != "0" {
			t.Errorf("job %d can open [%s]:\n%s", id, nodes(out), out)
		}
		if j := show(t, "", id); j.State != "running" || len(j.GPUs) != 1 || j.GPUs[0].Milli != 500 {
			t.Errorf("job %d is %s on %+v", id, j.State, j.GPUs)
		}
	}
	third := submit(t, "bob", "-g 0.5 --gpus-from 0 -- true")
	if why := sh(t, "bob", fmt.Sprintf("gpusched why %d", third)); !strings.Contains(why, "held by job") {
		t.Errorf("why: %s", why)
	}
	sh(t, "alice", fmt.Sprintf("gpusched cancel %d", a))
	mustEnd(t, wait(t, third), "completed", "exit code 0")
	if j := show(t, "", b); j.State != "running" {
		t.Errorf("the other half is %s", j.State)
	}
}

// TestSchedulerDependencies: a chain of jobs runs in order. When a job fails, the jobs that wait
// for its success end too, and the sentences about their ends say so.
func TestSchedulerDependencies(t *testing.T) {
	begin(t)
	sh(t, "alice", "rm -f ~/chain ~/go")
	gate := "while [ ! -e ~/go ]; do sleep 0.05; done; "
	first := submit(t, "alice", "-g 0 -- bash -c '"+gate+"echo 1 >> ~/chain'")
	second := submit(t, "alice", fmt.Sprintf("-g 0 --after-ok %d -- bash -c 'echo 2 >> ~/chain'", first))
	third := submit(t, "alice", fmt.Sprintf("-g 0 --after-ok %d -- bash -c 'echo 3 >> ~/chain'", second))
	fails := submit(t, "alice", "-g 0 -- bash -c '"+gate+"exit 3'")
	next := submit(t, "alice", fmt.Sprintf("-g 0 --after-ok %d -- true", fails))
	last := submit(t, "alice", fmt.Sprintf("-g 0 --after-ok %d -- true", next))
	instead := submit(t, "alice", fmt.Sprintf("-g 0 --after-fail %d -- true", fails))
	if why := sh(t, "alice", fmt.Sprintf("gpusched why %d", second)); !strings.Contains(why, fmt.Sprintf("waits until job %d has completed", first)) {
		t.Errorf("why: %s", why)
	}
	sh(t, "alice", "touch ~/go")
	mustEnd(t, wait(t, third), "completed", "exit code 0")
	if got := sh(t, "alice", "cat ~/chain"); got != "1\n2\n3" {
		t.Errorf("the chain ran as %q", got)
	}
	mustEnd(t, wait(t, fails), "failed", "exit code 3")
	mustEnd(t, wait(t, next), "cancelled", fmt.Sprintf("job %d failed, so --after-ok %d can never be met", fails, fails))
	mustEnd(t, wait(t, last), "cancelled", fmt.Sprintf("job %d was cancelled, so --after-ok %d can never be met", next, next))
	mustEnd(t, wait(t, instead), "completed", "exit code 0")
}

// atOnce returns how many commands started, and how many ran at the same time at most. The argument
// log has a line "+" for each start and a line "-" for each end.
func atOnce(log string) (starts, most int) {
	now := 0
	for _, word := range strings.Fields(log) {
		if word == "-" {
			now--
			continue
		}
		starts, now = starts+1, now+1
		most = max(most, now)
	}
	return starts, most
}

// TestSchedulerArray: 200 tasks on parts of GPUs run four at a time, although eight would fit. Each
// task has its number, its GPU and its own output.
func TestSchedulerArray(t *testing.T) {
	begin(t)
	sh(t, "alice", "rm -f ~/log")
	from := time.Now()
	id := submit(t, "alice", `-g 0.5 --array 0-199%4 -- bash -c 'echo + >> ~/log; echo task $GPUSCHED_ARRAY_TASK of $GPUSCHED_ARRAY_JOB on $GPUSCHED_GPU_IDS.; sleep 0.05; echo - >> ~/log'`)
	try(t, "", fmt.Sprintf("gpusched wait --timeout %d %d", 100*the.slow, id))
	t.Logf("200 tasks took %s", time.Since(from).Round(time.Millisecond))
	mustEnd(t, wait(t, id), "completed", "exit code 0")
	if starts, most := atOnce(sh(t, "alice", "cat ~/log")); starts != 200 || most > 4 || most < 2 {
		t.Errorf("%d tasks ran, %d at once", starts, most)
	}
	if j := show(t, "", id); j.Array == nil || j.Array.Next != 200 || j.Array.Live != 0 || j.Array.Failed != 0 {
		t.Errorf("the array: %+v", j.Array)
	}
	for _, n := range []int{0, 3, 199} {
		if out := sh(t, "alice", fmt.Sprintf("gpusched logs %d_%d", id, n)); strings.Count(out, "task ") != 1 || !strings.Contains(out, fmt.Sprintf("task %d of %d on ", n, id)) {
			t.Errorf("task %d printed %q", n, out)
		}
	}
}

// TestSchedulerParams: --param makes one task for each combination of values.
func TestSchedulerParams(t *testing.T) {
	begin(t)
	id := submit(t, "alice", "-g 0.5 --param lr=1e-3,1e-4 --param seed=1,2 -- echo rate {lr} seed {seed}.")
	mustEnd(t, wait(t, id), "completed", "exit code 0")
	var all string
	for n := range 4 {
		all += sh(t, "alice", fmt.Sprintf("gpusched logs %d_%d", id, n)) + "\n"
	}
	for _, want := range []string{"rate 1e-3 seed 1.", "rate 1e-3 seed 2.", "rate 1e-4 seed 1.", "rate 1e-4 seed 2."} {
		if strings.Count(all, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, all)
		}
	}
}

// TestSchedulerHold: a held job does not start; only its owner and administrators can release it.
func TestSchedulerHold(t *testing.T) {
	begin(t)
	id := submit(t, "alice", "--hold -g 1 -- true")
	other := submit(t, "alice", "--hold -g 1 -- true")
	if why := sh(t, "alice", fmt.Sprintf("gpusched why %d", id)); !strings.Contains(why, "held by alice") {
		t.Errorf("why: %s", why)
	}
	if r := try(t, "bob", fmt.Sprintf("gpusched release %d", id)); r.Code != 4 {
		t.Errorf("bob releases alice's job: %+v", r)
	}
	sh(t, "alice", fmt.Sprintf("gpusched release %d", id))
	mustEnd(t, wait(t, id), "completed", "exit code 0")
	if j := show(t, "alice", other); j.State != "queued" || j.HeldBy != "alice" {
		t.Errorf("the other is %s, held by %q", j.State, j.HeldBy)
	}
	sh(t, "", fmt.Sprintf("gpusched release %d", other))
	mustEnd(t, wait(t, other), "completed", "exit code 0")
}

// TestSchedulerBegin: a job starts by itself at the time that --begin names, and not earlier.
func TestSchedulerBegin(t *testing.T) {
	begin(t)
	const least = 3 * time.Second
	id := submit(t, "alice", fmt.Sprintf("--begin +%s -g 1 -- true", least*the.slow))
	if why := sh(t, "alice", fmt.Sprintf("gpusched why %d", id)); !strings.Contains(why, "not to begin before") {
		t.Errorf("why: %s", why)
	}
	j := wait(t, id)
	mustEnd(t, j, "completed", "exit code 0")
	if delay := j.StartedAt.Sub(j.SubmittedAt); delay < (least-100*time.Millisecond)*the.slow || delay > 10*time.Second*the.slow {
		t.Errorf("it started %s after it was submitted", delay)
	}
}

// TestSchedulerRetries: a failed job is retried as often as its user requested. The delay doubles
// with each retry.
func TestSchedulerRetries(t *testing.T) {
	begin(t)
	sh(t, "alice", "rm -f ~/tries")
	id := submit(t, "alice", `--retries 3 --backoff 1s -g 1 -- bash -c 'date +%s%3N >> ~/tries; [ $GPUSCHED_ATTEMPT -ge 3 ]'`)
	never := submit(t, "alice", "--retries 1 --backoff 1s -g 0 -- bash -c 'exit 4'")
	j := wait(t, id)
	mustEnd(t, j, "completed", "exit code 0")
	if j.Attempt != 3 || j.Failures != 2 {
		t.Errorf("attempt %d after %d failures", j.Attempt, j.Failures)
	}
	var at []int
	for _, word := range strings.Fields(sh(t, "alice", "cat ~/tries")) {
		ms, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		at = append(at, ms)
	}
	if len(at) != 3 || at[1]-at[0] < 1000 || at[2]-at[1] < 2000 {
		t.Errorf("tried at %v", at)
	}
	j = wait(t, never)
	mustEnd(t, j, "failed", "exit code 4")
	if j.Attempt != 2 {
		t.Errorf("the other job ran %d times", j.Attempt)
	}
}

// TestSchedulerRequeue: a job is requeued at its time limit, or by a command. It goes to the end of
// the queue and starts again.
func TestSchedulerRequeue(t *testing.T) {
	begin(t)
	command := `-- bash -c '[ $GPUSCHED_ATTEMPT -gt 1 ] || exec sleep 1000'`
	slow := submit(t, "alice", "--gpu-ids 0 -t 2s --grace 1s --on-timeout requeue "+command)
	sent := submit(t, "alice", "--gpu-ids 1 --grace 1s "+command)
	behind := map[int64]int64{slow: submit(t, "alice", "--gpu-ids 0 -- true"), sent: submit(t, "alice", "--gpu-ids 1 -- true")}
	waitRun(t, sent)
	if r := try(t, "bob", fmt.Sprintf("gpusched requeue %d", sent)); r.Code != 4 {
		t.Errorf("bob requeues alice's job: %+v", r)
	}
	sh(t, "alice", fmt.Sprintf("gpusched requeue %d", sent))
	for id, other := range behind {
		j, o := wait(t, id), wait(t, other)
		mustEnd(t, j, "completed", "exit code 0")
		mustEnd(t, o, "completed", "exit code 0")
		if j.Attempt != 2 || j.Requeues != 1 || !o.StartedAt.Before(j.StartedAt) {
			t.Errorf("job %d: attempt %d, requeues %d, started %s; the next one %s", id, j.Attempt, j.Requeues, j.StartedAt, o.StartedAt)
		}
	}
}

// TestSchedulerGPUControl: a pause with an end time ends by itself. The job on a drained GPU
// continues, and no other job starts there until the GPU is undrained.
func TestSchedulerGPUControl(t *testing.T) {
	begin(t)
	sh(t, "", fmt.Sprintf("gpusched gpu pause 2 --reason 'new fan' --until +%ds", 3*the.slow))
	paused := submit(t, "alice", "--gpu-ids 2 -- true")
	if why := sh(t, "alice", fmt.Sprintf("gpusched why %d", paused)); !strings.Contains(why, "new fan") {
		t.Errorf("why: %s", why)
	}
	on, release := submitHold(t, "alice", "--gpu-ids 3", "true")
	if r := try(t, "bob", "gpusched gpu drain 3"); r.Code != 4 {
		t.Errorf("bob drains a GPU: %+v", r)
	}
	sh(t, "", "gpusched gpu drain 3 --reason 'to be replaced'")
	t.Cleanup(func() { try(t, "", "gpusched gpu undrain 3") })
	next := submit(t, "bob", "--gpu-ids 3 -- true")
	gpus := func() string { return sh(t, "", "gpusched gpus --json") }
	if !strings.Contains(gpus(), `"draining"`) {
		t.Errorf("no GPU is draining: %s", gpus())
	}
	release()
	mustEnd(t, wait(t, on), "completed", "exit code 0")
	poll(t, "GPU 3 is drained", func() bool { return strings.Contains(gpus(), `"drained"`) })
	if why := sh(t, "bob", fmt.Sprintf("gpusched why %d", next)); !strings.Contains(why, "to be replaced") {
		t.Errorf("why: %s", why)
	}
	sh(t, "", "gpusched gpu undrain 3")
	mustEnd(t, wait(t, next), "completed", "exit code 0")
	mustEnd(t, wait(t, paused), "completed", "exit code 0")
}

// TestSchedulerUpdate: the priority of a waiting job can be
// changed. Only administrators may raise it above normal.
func TestSchedulerUpdate(t *testing.T) {
	begin(t)
	sh(t, "alice", "rm -f ~/sequence")
	_, release := submitHold(t, "alice", "--gpu-ids 0", "true")
	ids := map[string]int64{}
	for _, word := range []string{"last", "second", "first"} {
		ids[word] = submit(t, "alice", "--gpu-ids 0 -- bash -c 'echo "+word+" >> ~/sequence'")
	}
	if r := try(t, "alice", fmt.Sprintf("gpusched update %d --priority 5", ids["first"])); r.Code == 0 {
		t.Errorf("alice raises her priority: %+v", r)
	}
	sh(t, "alice", fmt.Sprintf("gpusched update %d --priority low", ids["last"]))
	sh(t, "", fmt.Sprintf("gpusched update %d --priority 5", ids["first"]))
	release()
	for _, id := range ids {
		mustEnd(t, wait(t, id), "completed", "exit code 0")
	}
	if got := strings.Join(strings.Fields(sh(t, "alice", "cat ~/sequence")), " "); got != "first second last" {
		t.Errorf("order %s", got)
	}
}

// TestSchedulerKilled: the daemon is killed again and again while jobs of all kinds run. No job is
// lost and no job runs twice.
func TestSchedulerKilled(t *testing.T) {
	begin(t)
	sh(t, "alice", "rm -rf ~/runs; mkdir ~/runs")
	array := submit(t, "alice", `-g 0.5 --array 0-39%4 -- bash -c 'echo x >> ~/runs/$GPUSCHED_ARRAY_TASK; sleep 0.1'`)
	after := submit(t, "alice", fmt.Sprintf("-g 0 --after-ok %d -- true", array))
	held := submit(t, "bob", "--hold -g 1 -- true")
	later := submit(t, "bob", "--begin +4s -g 1 -- true")
	again := submit(t, "bob", `--retries 2 --backoff 2s -g 0 -- bash -c '[ $GPUSCHED_ATTEMPT -ge 3 ]'`)
	half := submit(t, "alice", "-g 0.5 --gpu-ids 3 -- sleep 1000")
	waitRun(t, half)
	unit := show(t, "", half).InvocationID
	for range 6 {
		sh(t, "", killDaemon)
		poll(t, "the daemon answers", func() bool { return try(t, "", "gpusched version").Code == 0 })
		<-time.After(300 * time.Millisecond)
	}
	for _, id := range []int64{array, after, later, again} {
		mustEnd(t, wait(t, id), "completed", "exit code 0")
	}
	if got := sh(t, "alice", "cat ~/runs/* | wc -l; ls ~/runs | wc -l"); got != "40\n40" {
		t.Errorf("runs and tasks: %q", got)
	}
	if j := show(t, "", half); j.State != "running" || j.InvocationID != unit || len(j.GPUs) != 1 || j.GPUs[0].Milli != 500 {
		t.Errorf("the half is %s on %+v", j.State, j.GPUs)
	}
	if j := show(t, "", held); j.State != "queued" || j.HeldBy != "bob" {
		t.Errorf("the held job is %s, held by %q", j.State, j.HeldBy)
	}
}

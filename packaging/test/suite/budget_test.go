//go:build machine

package suite

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
)

// messagesIn returns the daemon's messages about a
// job in the job's journal, as the user reads them.
func messagesIn(t *testing.T, user string, id int64) []string {
	t.Helper()
	out := try(t, user, fmt.Sprintf("journalctl --quiet --no-pager -o cat -u gpujob-%d | grep '^gpusched: '", id)).Stdout
	return strings.Split(strings.TrimSpace(out), "\n")
}

// awaitSamples waits until the daemon has taken n samples of the GPUs.
func awaitSamples(t *testing.T, n int) {
	t.Helper()
	seen := map[string]bool{}
	poll(t, fmt.Sprintf("%d samples", n), func() bool {
		var r api.GPUsReply
		if err := json.Unmarshal([]byte(try(t, "", "gpusched gpus --json").Stdout), &r); err == nil && !r.SampledAt.IsZero() {
			seen[r.SampledAt.String()] = true
		}
		return len(seen) > n
	})
}

// TestGPUMemoryBudget: a job exceeds its GPU memory budget. The daemon says so once in the job's
// own journal. If another job is short of its own promised memory, the daemon stops the first job.
// The daemon may be killed meanwhile.
func TestGPUMemoryBudget(t *testing.T) {
	begin(t)
	settings(t, "[gpus]\nsample_interval = \"300ms\"\n[gpu_memory]\npolicy = \"enforce\"\ntolerance = \"100M\"\ngrace = \"2s\"")
	sh(t, "alice", "rm -f ~/more")
	id := submit(t, "alice", "-g 0.5 --gpu-ids 0 --gpu-mem 20G -- bash -c 'simcuda --mem 30G --hold 1000 & while [ ! -e ~/more ]; do sleep 0.1; done; simcuda --mem 10G --hold 1000'")
	waitRun(t, id)
	const warning = "gpusched: this job uses 30G of the memory of GPU 0, 10G more than the 20G it was promised."
	poll(t, "alice finds the warning", func() bool { return strings.HasPrefix(messagesIn(t, "alice", id)[0], warning) })
	if out := sh(t, "alice", fmt.Sprintf("gpusched logs %d", id)); !strings.Contains(out, warning) {
		t.Errorf("gpusched logs does not show the warning: %s", out)
	}
	if out := messagesIn(t, "bob", id)[0]; out != "" {
		t.Errorf("bob reads in alice's journal: %s", out)
	}
	if out := sh(t, "bob", fmt.Sprintf("gpusched show %d; gpusched list", id)); strings.Count(out, "running (over memory)") != 2 || !strings.Contains(out, "30G now, 30G at its peak") {
		t.Errorf("show and list: %s", out)
	}
	other := submit(t, "bob", "-g 0.5 --gpu-ids 0 --gpu-mem 45G -- simcuda --mem 5G --hold 1000")
	waitRun(t, other)
	sh(t, "", "systemctl kill --kill-whom main --signal KILL gpusched")
	awaitSamples(t, 8)
	if got := messagesIn(t, "alice", id); len(got) != 1 {
		t.Errorf("warned %d times: %q", len(got), got)
	}
	if j := show(t, "", id); j.State != "running" {
		t.Fatalf("stopped although there was enough memory for both: %+v", j.Result)
	}
	sh(t, "alice", "touch ~/more")
	mustEnd(t, wait(t, id), "gpu-out-of-memory", fmt.Sprintf("stopped for using 40G of the memory of GPU 0, 20G more than the 20G it was promised, when job %d was short of its own", other))
	if got := messagesIn(t, "alice", id); len(got) != 2 || !strings.HasPrefix(got[1], "gpusched: stopped for using 40G") {
		t.Errorf("its journal: %q", got)
	}
	if r := try(t, "alice", fmt.Sprintf("gpusched wait %d", id)); r.Code != 137 {
		t.Errorf("gpusched wait exits %d", r.Code)
	}
	if out := sh(t, "alice", fmt.Sprintf("gpusched show %d", id)); !strings.Contains(out, "40G at its peak") {
		t.Errorf("its peak is not recorded: %s", out)
	}
	if j := show(t, "", other); j.State != "running" {
		t.Errorf("the other job is %s", j.State)
	}
	cancel(t, "bob", other)
}

// TestOwnGPUMemoryError: a job whose own use exhausts the GPU memory counts as failed.
func TestOwnGPUMemoryError(t *testing.T) {
	begin(t)
	id := submit(t, "alice", "-g 0.5 --gpu-ids 0 --gpu-mem 20G -- simcuda --oom")
	mustEnd(t, wait(t, id), "failed", "failed: exit code 1")
}

// TestForeignProcessSinceTheLook: a process begins to use a GPU between two samples. The daemon
// notices the process before it starts an exclusive job on that GPU.
func TestForeignProcessSinceTheLook(t *testing.T) {
	begin(t)
	settings(t, "[gpus]\nsample_interval = \"1h\"")
	awaitDaemon(t)
	sh(t, "", "rm -f /tmp/began")
	mustEnd(t, wait(t, submit(t, "alice", "--gpu-ids 0 -- true")), "completed", "exit code 0")
	sh(t, "", "systemd-run --quiet --uid bob --unit stranger simcuda --mem 70G --hold 1000")
	t.Cleanup(func() { try(t, "", "systemctl stop stranger") })
	poll(t, "it has its memory", func() bool { return sh(t, "", "ls /run/fakenvml/claims | grep -c -- -0$ || true") == "1" })
	id := submit(t, "alice", "--gpu-ids 0 -- touch /tmp/began")
	stranger := "in use outside gpusched: bob's process " + sh(t, "", "systemctl show -P MainPID stranger") + " has 70G"
	poll(t, "the job waits for the foreign process", func() bool { return strings.Contains(askWhy(t, "alice", id), stranger) })
	if out := sh(t, "alice", fmt.Sprintf("gpusched show %d --json; ls /tmp/began || true", id)); !strings.Contains(out, "not started, and queued again: GPU 0 is in use") || strings.Contains(out, "\n/tmp/began") {
		t.Errorf("show: %s", out)
	}
	sh(t, "", "systemctl stop stranger")
	settings(t, "[gpus]\nsample_interval = \"1s\"")
	mustEnd(t, wait(t, id), "completed", "exit code 0")
}

// TestForeignProcess: a process that uses a GPU without a job is shown. 'gpusched why' names the
// process to the users whose jobs wait for the GPU. Other users do not see the name of its program.
func TestForeignProcess(t *testing.T) {
	begin(t)
	settings(t, quickSampling)
	sh(t, "", `cp "$(command -v simcuda)" /usr/local/bin/$'se\e[31mcret'; systemd-run --quiet --uid bob --unit stranger bash -c 'exec /usr/local/bin/se*cret --mem 70G --hold 1000'`)
	t.Cleanup(func() { sh(t, "", "systemctl stop stranger; rm -f /usr/local/bin/se*cret") })
	pid := sh(t, "", "systemctl show -P MainPID stranger")
	poll(t, "the process shows", func() bool {
		return strings.Contains(sh(t, "alice", "gpusched gpus"), "bob's process "+pid+" has 70G")
	})
	lists := func(user, text string) (out string) {
		t.Helper()
		poll(t, user+" reads "+text, func() bool {
			out = sh(t, user, "gpusched gpus")
			return strings.Contains(strings.Join(strings.Fields(out), " "), text)
		})
		return out
	}
	if out := lists("alice", "0 "+pid+" bob 70G none"); strings.Contains(out, "cret") {
		t.Errorf("alice reads the name of bob's program: %s", out)
	}
	if out := lists("bob", "cret"); strings.Contains(out, "\x1b[31m") {
		t.Errorf("bob sees his own process as %q", out)
	}
	id := submit(t, "alice", "--gpu-ids 0 --gpu-mem 20G -- true")
	waitsFor(t, "alice", id, "of no job: bob's process "+pid+" has 70G")
	whole := submit(t, "alice", "--gpu-ids 0 -- true")
	waitsFor(t, "alice", whole, "in use outside gpusched: bob's process "+pid+" has 70G")
	poll(t, "a dry run names the process", func() bool {
		return strings.Contains(sh(t, "alice", "gpusched submit --dry-run --gpu-ids 0 -- true"), "in use outside gpusched: bob's process "+pid)
	})
	sh(t, "", "systemctl stop stranger")
	mustEnd(t, wait(t, id), "completed", "exit code 0")
	mustEnd(t, wait(t, whole), "completed", "exit code 0")
}

// TestIdleJob: a job that does not use its GPU gets a message. If the site's settings say so, the
// daemon ends the job. A job that computes continues.
func TestIdleJob(t *testing.T) {
	begin(t)
	const after, grace = 5 * time.Second, 2 * time.Second
	settings(t, fmt.Sprintf(quickSampling+"\n[idle]\naction = \"stop\"\nafter = %q\ngrace = %q", after, grace))
	busy := submit(t, "bob", "-g 1 -- simcuda --mem 5G --util 70 --hold 1000")
	notebook := submit(t, "alice", "-g 1 -- simcuda --mem 5G --util 0 --hold 1000")
	sleeps := submit(t, "alice", "-g 2 -- sleep 1000")
	waitRun(t, busy)
	waitRun(t, sleeps)
	stopped := func(id int64) {
		t.Helper()
		const sentence = "cancelled by the site: it had not used its GPUs for "
		j, idle := wait(t, id), 0
		mustEnd(t, j, "cancelled", sentence)
		if _, err := fmt.Sscanf(j.Result.Sentence, sentence+"%ds", &idle); err != nil || time.Duration(idle)*time.Second < after+grace {
			t.Errorf("job %d says %q, %v", id, j.Result.Sentence, err)
		}
	}
	stopped(sleeps)
	stopped(notebook)
	if got := strings.Join(messagesIn(t, "alice", sleeps), "\n"); strings.Count(got, "this job has not used GPU") != 2 || !strings.Contains(got, "it is stopped.\ngpusched: cancelled by the site") {
		t.Errorf("its journal: %q", got)
	}
	if j := show(t, "", busy); j.State != "running" || len(j.Warnings) > 0 || messagesIn(t, "bob", busy)[0] != "" {
		t.Errorf("the job that computes: %s, %v, %q", j.State, j.Warnings, messagesIn(t, "bob", busy))
	}
	cancel(t, "bob", busy)
}

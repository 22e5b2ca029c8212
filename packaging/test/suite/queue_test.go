//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// TestThirdJobWaits: 'gpusched why' names the job that has the GPU. The waiting job starts by
// itself.
func TestThirdJobWaits(t *testing.T) {
	begin(t)
	first, release := submitHold(t, "alice", "--gpu-ids 0,1", "true")
	next := submit(t, "bob", "--gpus-from 0-1 -- true")
	if why := sh(t, "bob", fmt.Sprintf("gpusched why %d", next)); !strings.Contains(why, fmt.Sprintf("held by job %d", first)) {
		t.Errorf("why does not name job %d: %s", first, why)
	}
	if j := show(t, "bob", next); j.State != "queued" || len(j.Reasons) == 0 {
		t.Errorf("job %d is %s for %v", next, j.State, j.Reasons)
	}
	release()
	mustEnd(t, wait(t, next), "completed", "exit code 0")
	mustEnd(t, wait(t, first), "completed", "exit code 0")
}

// TestPriorityThenOrder: if only one GPU is available, jobs
// run by priority, and then in the order of submission.
func TestPriorityThenOrder(t *testing.T) {
	begin(t)
	sh(t, "alice", "rm -f ~/order")
	_, release := submitHold(t, "alice", "-g 4", "true")
	for _, c := range []string{"-p low|third", "|first", "-p -5|later", "|second"} {
		opts, word, _ := strings.Cut(c, "|")
		submit(t, "alice", fmt.Sprintf("--gpu-ids 2 %s -- bash -c 'echo %s >> ~/order'", opts, word))
	}
	release()
	poll(t, "all have run", func() bool { return try(t, "alice", "wc -l < ~/order").Stdout == "4\n" })
	if got := strings.Fields(sh(t, "alice", "cat ~/order")); strings.Join(got, " ") != "first second later third" {
		t.Errorf("order %v", got)
	}
}

// TestCanNeverStart: a job that can never run on this machine is refused at once, with exit status
// 6.
func TestCanNeverStart(t *testing.T) {
	begin(t)
	for args, text := range map[string]string{
		"-g 5":                 "this machine has 4",
		"--gpu-ids 9":          "GPU 9",
		"-g 1 --gpu-mem 100G":  "100G",
		"-g 1 --gpu-type h100": "h100",
		"-g 0 --mem 900T":      "host memory",
	} {
		r := try(t, "alice", "gpusched submit "+args+" -- true")
		if r.Code != 6 || !strings.Contains(r.Stderr, text) {
			t.Errorf("submit %s exits %d: %s", args, r.Code, r.Stderr)
		}
	}
}

// TestPauseGPU: a paused GPU takes no new job, but its
// running jobs continue. The pause survives a restart.
func TestPauseGPU(t *testing.T) {
	begin(t)
	on := submit(t, "alice", "--gpu-ids 3 -- sleep 1000")
	waitRun(t, on)
	sh(t, "", "gpusched gpu pause 3 --reason 'new fan'")
	sh(t, "alice", fmt.Sprintf("gpusched cancel %d", on))
	mustEnd(t, wait(t, on), "cancelled", "cancelled by alice")
	id := submit(t, "alice", "--gpu-ids 3 -- true")
	sh(t, "", "systemctl restart gpusched")
	poll(t, "why gives the reason", func() bool { return strings.Contains(sh(t, "alice", fmt.Sprintf("gpusched why %d", id)), "new fan") })
	sh(t, "", "gpusched gpu resume 3")
	mustEnd(t, wait(t, id), "completed", "exit code 0")
}

// TestBatchLargestFirst: all jobs of a batch need GPU 2. The job with the most GPUs starts first,
// whatever the order of submission.
func TestBatchLargestFirst(t *testing.T) {
	begin(t)
	sh(t, "alice", "rm -f ~/order; cat > ~/jobs <<'END'\n"+
		"# smallest first\n"+
		"--gpu-ids 2 -- bash -c 'echo one >> ~/order'\n"+
		"--gpu-ids 1,2 -- bash -c 'echo two >> ~/order'\n"+
		"--gpu-ids 0,1,2 -- bash -c 'echo three >> ~/order'\nEND")
	_, release := submitHold(t, "alice", "-g 4", "true")
	if out := sh(t, "alice", "gpusched submit --objective makespan --batch b -t 1h -q --file ~/jobs"); len(strings.Fields(out)) != 3 {
		t.Fatalf("submitted %q", out)
	}
	all := submit(t, "alice", "--objective makespan --batch b -t 1h -g 4 -- bash -c 'echo four >> ~/order'")
	if j := show(t, "alice", all); j.Batch != "b" || j.Objective != "makespan" {
		t.Errorf("job %d is of batch %q for %q", all, j.Batch, j.Objective)
	}
	release()
	poll(t, "all have run", func() bool { return try(t, "alice", "wc -l < ~/order").Stdout == "4\n" })
	if got := strings.Join(strings.Fields(sh(t, "alice", "cat ~/order")), " "); got != "four three two one" {
		t.Errorf("they ran as %s", got)
	}
}

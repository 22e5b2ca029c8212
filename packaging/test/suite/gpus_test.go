//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// probe is a job's command that opens the node of every GPU. The error ENXIO means that the device
// filter allowed the open and only the driver is missing; EPERM means that the filter refused it.
const probe = `bash -c 'for i in 0 1 2 3; do if (: </dev/nvidia$i) 2>/tmp/err.$$; then echo node $i open; else case "$(cat /tmp/err.$$)" in *"No such device"*) echo node $i open;; *"not permitted"*) echo node $i filtered;; *) echo node $i $(cat /tmp/err.$$);; esac; fi; done; rm -f /tmp/err.$$; echo visible [$CUDA_VISIBLE_DEVICES] ids [$GPUSCHED_GPU_IDS]; echo probed; %s'`

// nodes returns the device nodes that a probe could open.
func nodes(out string) string {
	var open []string
	for i := range 4 {
		switch {
		case strings.Contains(out, fmt.Sprintf("node %d open", i)):
			open = append(open, fmt.Sprint(i))
		case !strings.Contains(out, fmt.Sprintf("node %d filtered", i)):
			open = append(open, fmt.Sprintf("%d:?", i))
		}
	}
	return strings.Join(open, ",")
}

// TestEachJobOpensItsOwnGPUs: two jobs run on two GPUs, and a
// third job has no GPU. Each job can open only its own GPUs.
func TestEachJobOpensItsOwnGPUs(t *testing.T) {
	begin(t)
	hold := fmt.Sprintf(probe, "sleep 1000")
	a, b, none := submit(t, "alice", "-g 1 -- "+hold), submit(t, "bob", "-g 1 -- "+hold), submit(t, "bob", "-g 0 -- "+hold)
	two := submit(t, "alice", "--gpu-ids 2,3 -- "+hold)
	for id, want := range map[int64][2]string{a: {"0", "visible [0] ids [0]"}, b: {"1", "visible [0] ids [1]"}, none: {"", "visible [] ids []"}, two: {"2,3", "visible [0,1] ids [2,3]"}} {
		out := waitText(t, id, "probed")
		if got := nodes(out); got != want[0] || !strings.Contains(out, want[1]) {
			t.Errorf("job %d can open [%s], want [%s] and %q:\n%s", id, got, want[0], want[1], out)
		}
	}
}

// This job opens all GPU nodes again and again, its own node first, until ~/end exists. ENXIO means
// that the device filter allowed the open, EPERM that it refused.
const tries = `import errno, os
path = os.path.expanduser("~/end")
tried, wrong = 0, {}
print("armed", flush=True)
while tried % 1000 or not os.path.exists(path):
    for i in range(4):
        try:
            os.close(os.open("/dev/nvidia%d" % i, os.O_RDONLY))
            got = "open"
        except OSError as e:
            got = errno.errorcode[e.errno]
        if got != ("EPERM" if i else "ENXIO"):
            wrong[(i, got)] = wrong.get((i, got), 0) + 1
    tried += 1
print("tried often" if tried > 1000 else "hardly tried", "and saw", wrong or "nothing else", flush=True)
`

// TestFilterOutlivesReloads: while systemd is reloaded and re-executed, a job can always open its
// own GPU and never another.
func TestFilterOutlivesReloads(t *testing.T) {
	begin(t)
	if err := the.WriteFile(t.Context(), "/usr/local/bin/tries.py", tries, 0o644); err != nil {
		t.Fatal(err)
	}
	sh(t, "alice", "rm -f ~/end")
	id := submit(t, "alice", "-g 1 -- python3 /usr/local/bin/tries.py")
	waitText(t, id, "armed")
	for range 3 {
		sh(t, "", "systemctl daemon-reload; systemctl daemon-reexec")
	}
	poll(t, "systemd is back", func() bool { return try(t, "", "systemctl is-active dbus").Code == 0 })
	if j := show(t, "alice", id); j.State != "running" {
		t.Errorf("the job is %s after reloads: %+v", j.State, j.Result)
	}
	sh(t, "alice", "touch ~/end")
	if out := waitText(t, id, "saw"); !strings.Contains(out, "tried often and saw nothing else") {
		t.Errorf("the job says:\n%s", out)
	}
	mustEnd(t, wait(t, id), "completed", "exit code 0")
}

// TestSimulatedCUDA: a program in a job allocates memory on each GPU that it sees. 'gpusched gpus'
// shows this memory as used by the job.
func TestSimulatedCUDA(t *testing.T) {
	begin(t)
	id := submit(t, "alice", "-g 2 --gpu-mem 10G -- simcuda --mem 10G --hold 1000")
	waitRun(t, id)
	poll(t, "the memory shows", func() bool {
		out := sh(t, "alice", "gpusched gpus --json")
		return strings.Count(out, fmt.Sprintf(`"job":%d`, id))+strings.Count(out, fmt.Sprintf(`"job": %d`, id)) >= 2
	})
	failing := submit(t, "alice", "-g 1 -- simcuda --mem 100G")
	mustEnd(t, wait(t, failing), "failed", "exit code 1")
	waitText(t, failing, "CUDA out of memory")
}

// TestGPUMemoryIsReallyFree: a foreign process uses so much GPU memory that a job's request does
// not fit. The job waits, and starts by itself when the memory is free.
func TestGPUMemoryIsReallyFree(t *testing.T) {
	begin(t)
	sh(t, "", "systemd-run --quiet --unit stranger simcuda --mem 70G --hold 1000")
	t.Cleanup(func() { try(t, "", "systemctl stop stranger") })
	poll(t, "the foreign process shows", func() bool {
		return strings.Contains(sh(t, "", "gpusched gpus --json"), `"used_bytes": 75161927680`) || strings.Contains(sh(t, "", "gpusched gpus --json"), `"used_bytes":75161927680`)
	})
	id := submit(t, "alice", "--gpu-ids 0 --gpu-mem 20G -- true")
	if why := sh(t, "alice", fmt.Sprintf("gpusched why %d", id)); !strings.Contains(why, "actually free") {
		t.Errorf("why: %s", why)
	}
	sh(t, "", "systemctl stop stranger")
	mustEnd(t, wait(t, id), "completed", "exit code 0")
}

// TestLeftoversAreGone: a job leaves processes and GPU memory behind. Both are gone before another
// job gets the GPU.
func TestLeftoversAreGone(t *testing.T) {
	begin(t)
	first := submit(t, "alice", `--gpu-ids 1 --grace 1s -- bash -c '(setsid bash -c "trap \"\" TERM HUP; exec -a left-behind sleep 2000" &) ; simcuda --mem 5G --orphan --ignore-term --hold 2000 & sleep 0.5; echo leaving; exit 0'`)
	second := submit(t, "bob", `--gpu-ids 1 -- bash -c 'pgrep -u alice -f "left-behind|simcuda" && echo still-there; ls /run/fakenvml/claims; echo looked'`)
	mustEnd(t, wait(t, first), "completed", "exit code 0")
	out := waitText(t, second, "looked")
	if strings.Contains(out, "still-there") {
		t.Errorf("alice's processes are there when bob's job runs:\n%s", out)
	}
	mustEnd(t, wait(t, second), "completed", "exit code 0")
}

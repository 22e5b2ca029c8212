//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
)

// fakeMPS installs a control program of MPS that behaves like NVIDIA's, as far as the scheduler
// relies on it. It makes the pipe, starts a server that is on the GPU, and ends at the command quit
// or by a signal.
func fakeMPS(t *testing.T) {
	t.Helper()
	const path = "/usr/bin/nvidia-cuda-mps-control"
	sh(t, "", "! test -e "+path+" && cat > "+path+` <<'END'
#!/bin/bash
[ "$1" = -f ] && cd "$CUDA_MPS_PIPE_DIRECTORY" && mkfifo control || exit 2
simcuda --mem 40M --hold 1000 &
exec 3<>control
while read -r word <&3; do [ "$word" != quit ] || exit 0; done
END
chmod 755 `+path)
	t.Cleanup(func() { sh(t, "", "rm "+path) })
}

// servers lists the units that serve MPS.
func servers(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(sh(t, "", "systemctl list-units --all --plain --no-legend 'gpusched-mps-*' | cut -d' ' -f1"))
}

func noServer(t *testing.T) {
	t.Helper()
	poll(t, "nothing serves MPS any more", func() bool { return servers(t) == "" })
	sh(t, "", "! ls /run/gpusched-mps/* && ! pgrep -x nvidia-cuda-mps")
}

// onGPU returns the GPU of a job that runs.
func onGPU(t *testing.T, id int64) int {
	t.Helper()
	waitRun(t, id)
	return show(t, "", id).GPUs[0].Index
}

// TestMPS: two of alice's jobs share a GPU and one control program of MPS. Jobs without MPS and
// those of bob get other GPUs. The server of MPS is not foreign. A kill of the daemon changes
// nothing. When the last job has ended, nothing is left, and the GPU is free.
func TestMPS(t *testing.T) {
	begin(t)
	settings(t, quickSampling)
	gpusSeen(t)
	refused := func(args, want string) {
		if r := try(t, "alice", "gpusched submit "+args+" -- true"); r.Code == 0 || !strings.Contains(r.Stderr, want) {
			t.Errorf("%s: exit %d, %s", args, r.Code, r.Stderr)
		}
	}
	refused("--mps -g 0.25", "nvidia-cuda-mps-control is not installed")
	fakeMPS(t)
	refused("--mps -g 1", "a part of one GPU")
	refused("--mps-fair -g 0.25", "add --mps")
	const work = "--mps --mps-fair -g 0.25 -- bash -c 'test -p $CUDA_MPS_PIPE_DIRECTORY/control && env | grep CUDA_MPS; exec simcuda --mem 1G --hold 1000'"
	a, b := submit(t, "alice", work), submit(t, "alice", work)
	at := onGPU(t, a)
	server := fmt.Sprintf("gpusched-mps-1001-%d.service", at)
	if other := onGPU(t, b); other != at || servers(t) != server {
		t.Errorf("on GPUs %d and %d, served by %s", at, other, servers(t))
	}
	out := waitText(t, b, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=")
	if !strings.Contains(out, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=25\n") {
		t.Errorf("the job's environment: %s", out)
	}
	if in := sh(t, "alice", fmt.Sprintf("gpusched exec %d -- env", a)); !strings.Contains(in, fmt.Sprintf("CUDA_MPS_PIPE_DIRECTORY=/run/gpusched-mps/1001-%d\n", at)) {
		t.Errorf("in the job: %s", in)
	}
	for _, user := range []string{"alice", "bob"} {
		plain := submit(t, user, "-g 0.25 -- sleep 1000")
		if on := onGPU(t, plain); on == at {
			t.Errorf("a job of %s without MPS is on GPU %d too", user, on)
		}
		cancel(t, user, plain)
	}
	blocked := submit(t, "bob", fmt.Sprintf("-g 0.25 --gpu-ids %d -- true", at))
	waitsFor(t, "bob", blocked, "shared with MPS")
	cancel(t, "bob", blocked)

	awaitSamples(t, 3)
	if list := sh(t, "", "gpusched gpus"); strings.Contains(list, "mps-control") || strings.Contains(list, "outside") {
		t.Errorf("the server is shown: %s", list)
	}
	before := sh(t, "", "systemctl show -P InvocationID "+server)
	sh(t, "", "systemctl kill --kill-whom main --signal KILL gpusched")
	awaitSamples(t, 3)
	c := submit(t, "alice", work)
	if other := onGPU(t, c); other != at || sh(t, "", "systemctl show -P InvocationID "+server) != before {
		t.Errorf("a job on GPU %d, served by %s", other, servers(t))
	}
	cancel(t, "alice", a, b, c)
	noServer(t)
	mustEnd(t, wait(t, submit(t, "bob", "-g 4 -- true")), "completed", "exit code 0")
}

// TestMPSEnds: if the control program dies, a job that fails without it is tried once more, alone
// and without MPS. A second failure counts.
func TestMPSEnds(t *testing.T) {
	begin(t)
	settings(t, quickSampling)
	gpusSeen(t)
	fakeMPS(t)
	const work = "--mps -g 0.25 -- bash -c 'pipe=$CUDA_MPS_PIPE_DIRECTORY/control; while [ -p $pipe ]; do sleep 0.1; done; exit "
	well, ill := submit(t, "alice", work+"${CUDA_MPS_PIPE_DIRECTORY:+9}'"), submit(t, "alice", work+"9'")
	at := onGPU(t, well)
	onGPU(t, ill)
	sh(t, "", fmt.Sprintf("systemctl kill --signal KILL gpusched-mps-1001-%d.service", at))
	done := wait(t, well)
	mustEnd(t, done, "completed", "exit code 0")
	last := wait(t, ill)
	mustEnd(t, last, "failed", "exit code 9")
	for _, j := range []api.Job{done, last} {
		if tries := sh(t, "alice", fmt.Sprintf("gpusched history --attempts --json %d", j.ID)); j.Attempt != 2 || !strings.Contains(tries, "control program of MPS") || !strings.Contains(tries, "mps-neighbour") {
			t.Errorf("job %d, attempt %d: %s", j.ID, j.Attempt, tries)
		}
	}
	noServer(t)
}

//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// sliced puts GPU 0 into MIG mode with these slices, and leaves GPU 1 whole. In the daemon's unit,
// files of the test replace the driver's files in /proc. They contain the numbers of the two device
// nodes of each slice.
func sliced(t *testing.T, slices string) {
	t.Helper()
	const dropIn = "/run/systemd/system/gpusched.service.d/mig.conf"
	sh(t, "", `mkdir -p /dev/nvidia-caps $(dirname `+dropIn+`)
node() { mkdir -p $(dirname $2); printf 'DeviceFileMinor: %s\nDeviceFileMode: 292\nDeviceFileModify: 1\n' $1 > $2; mknod -m 444 /dev/nvidia-caps/nvidia-cap$1 c 237 $1; }
for at in 7:30 2:40; do gi=/run/driver/nvidia/capabilities/gpu0/mig/gi${at%:*}; node ${at#*:} $gi/access; node $((${at#*:} + 1)) $gi/ci0/access; done
printf '[Service]\nBindReadOnlyPaths=/run/driver:/proc/driver\n' > `+dropIn+`
printf 'minor=0 mig=1 slices=`+slices+`\nminor=1\n' > /run/fakenvml/gpus; systemctl daemon-reload; systemctl restart gpusched`)
	t.Cleanup(func() {
		sh(t, "", "rm -rf /run/fakenvml/gpus /dev/nvidia-caps /run/driver "+dropIn+"; systemctl daemon-reload; systemctl restart gpusched")
	})
}

const (
	bothSlices = "1g.10gb:7:0,3g.40gb:2:0"
	// opensCaps is a job's command that opens device nodes, takes 1 GiB of the slice, and keeps
	// running.
	opensCaps = `bash -c 'for n in nvidia0 nvidia1 nvidia-caps/nvidia-cap30 nvidia-caps/nvidia-cap31 nvidia-caps/nvidia-cap40 nvidia-caps/nvidia-cap41; do e=$( (: </dev/$n) 2>&1); case "$e" in *"No such device"*) echo $n open;; *"not permitted"*) echo $n refused;; *) echo "$n ?$e";; esac; done; echo "visible [$CUDA_VISIBLE_DEVICES] order $GPUSCHED_GPU_IDS"; echo 1073741824 > /run/fakenvml/claims/$$-%d; echo probed; sleep 1000'`
)

// TestSlicesOfOneGPU: two users have jobs on two slices of one GPU. Each job opens the nodes of its
// own slice, and the device filter refuses the nodes of the other slice. CUDA_VISIBLE_DEVICES has
// the slice's UUID.
func TestSlicesOfOneGPU(t *testing.T) {
	begin(t)
	sliced(t, bothSlices)
	poll(t, "the slices are GPUs", func() bool { return strings.Contains(sh(t, "", "gpusched gpus"), "MIG 3g.40gb") })
	a := submit(t, "alice", "-g 1 --gpu-type 1g.10gb -- "+fmt.Sprintf(opensCaps, 1070))
	b := submit(t, "bob", "-g 1 --gpu-type 3g.40gb -- "+fmt.Sprintf(opensCaps, 1020))
	for id, want := range map[int64][]string{
		a: {"nvidia0 open", "nvidia1 refused", "cap30 open", "cap31 open", "cap40 refused", "cap41 refused",
			"visible [MIG-fa4e0000-0000-4007-8000-000000000000] order 2"},
		b: {"nvidia0 open", "nvidia1 refused", "cap30 refused", "cap31 refused", "cap40 open", "cap41 open",
			"visible [MIG-fa4e0000-0000-4002-8000-000000000000] order 3"},
	} {
		out := waitText(t, id, "probed")
		for _, line := range want {
			if !strings.Contains(out, line) {
				t.Errorf("job %d does not print %q:\n%s", id, line, out)
			}
		}
	}
	poll(t, "the memory of each slice shows", func() bool {
		out := strings.ReplaceAll(sh(t, "alice", "gpusched gpus --json"), `": `, `":`)
		return strings.Count(out, `"mem_used_bytes":1073741824`) == 2 && strings.Contains(out, `"gpu_instance":7`)
	})
	whole := submit(t, "alice", "-g 1 -- sleep 1000")
	waitRun(t, whole)
	if j := show(t, "alice", whole); len(j.GPUs) != 1 || j.GPUs[0].Index != 1 {
		t.Errorf("a job that names no slice has %+v", j.GPUs)
	}
	next := submit(t, "bob", "-g 1 -- true")
	if why := sh(t, "bob", fmt.Sprintf("gpusched why %d", next)); !strings.Contains(why, "which only jobs that name slices get") {
		t.Errorf("why: %s", why)
	}
	mustFail(t, "alice", "gpusched submit -g 0.5 --gpu-type mig -- true", 6, "slices of a GPU (MIG) are not shared")
	sh(t, "", "systemctl kill -s KILL gpusched")
	poll(t, "the daemon is back", func() bool { return try(t, "", "gpusched gpus").Code == 0 })
	for _, id := range []int64{a, b} {
		if j := show(t, "", id); j.State != "running" || len(j.GPUs) != 1 {
			t.Errorf("after a crash of the daemon job %d is %s on %+v", id, j.State, j.GPUs)
		}
	}
}

// TestSlicesShareTheirFate: if a GPU fails, all its slices are out of service. If an administrator
// destroys the instance of one slice, the job on that slice ends, and the other slice takes jobs.
func TestSlicesShareTheirFate(t *testing.T) {
	begin(t)
	sliced(t, bothSlices)
	mustEnd(t, wait(t, submit(t, "alice", "-g 1 --gpu-type 3g.40gb -- true")), "completed", "exit code 0")
	gpus := func(first string) {
		sh(t, "", "printf '"+first+`\nminor=1\n' > /run/fakenvml/new; mv /run/fakenvml/new /run/fakenvml/gpus`)
	}
	gpus("minor=0 mig=1 rows_failed=1 slices=" + bothSlices)
	id := submit(t, "alice", "-g 1 --gpu-type mig -- true")
	poll(t, "both slices are out of service", func() bool {
		text, _ := health(t)
		return strings.Contains(text, "gpu 2:") && strings.Contains(text, "gpu 3:") && strings.Contains(text, "nvidia-smi -q -i 0") && show(t, "", id).State == "queued"
	})
	gpus("minor=0 mig=1 slices=" + bothSlices)
	mustEnd(t, wait(t, id), "completed", "exit code 0")

	on := submit(t, "bob", "-g 1 --gpu-type 3g.40gb -- sleep 1000")
	waitRun(t, on)
	gpus("minor=0 mig=1 slices=1g.10gb:7:0")
	if j := wait(t, on); j.State != "failed" {
		t.Errorf("the job of the destroyed slice is %s: %+v", j.State, j.Result)
	}
	mustEnd(t, wait(t, submit(t, "alice", "-g 1 --gpu-type 1g.10gb -- true")), "completed", "exit code 0")
}

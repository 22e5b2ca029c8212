//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/gpu/fakenvml"
	"github.com/gpusched/gpusched/packaging/test/vm"
)

// onGPUs waits until a job runs and returns its GPUs, such as "0,1".
func onGPUs(t *testing.T, id int64) string {
	t.Helper()
	waitRun(t, id)
	var list []string
	for _, g := range show(t, "", id).GPUs {
		list = append(list, fmt.Sprint(g.Index))
	}
	return strings.Join(list, ",")
}

// TestSchedulerSpread: jobs with parts of GPUs are
// packed onto few GPUs, unless a job asks to be spread.
func TestSchedulerSpread(t *testing.T) {
	begin(t)
	for _, c := range [][2]string{{"-g 0.3", "0"}, {"-g 0.3", "0"}, {"-g 0.3 --spread", "1"}, {"-g 0.3 --spread", "2"}, {"-g 0.4", "0"}, {"-g 1", "3"}} {
		if on := onGPUs(t, submit(t, "alice", c[0]+" -- sleep 1000")); on != c[1] {
			t.Errorf("%s is on GPU %s, want %s", c[0], on, c[1])
		}
	}
}

// TestSchedulerThresholds: a job is not placed on a GPU while
// the GPU's load or used memory exceeds the job's thresholds.
func TestSchedulerThresholds(t *testing.T) {
	begin(t)
	settings(t, "[gpus]\nsample_interval = \"1s\"\nmax_load = 80")
	gpus := func(first, second string) {
		sh(t, "", "printf '"+strings.ReplaceAll(fakenvml.GPUsText(first, second, "", ""), "\n", "\\n")+"' > "+vm.FakeNVMLGPUs)
	}
	gpus("util=60", "used_mib=50000")
	poll(t, "it is sampled", func() bool {
		out := sh(t, "", "gpusched gpus -o csv")
		return strings.Contains(out, ",60,") && strings.Contains(out, ",52428800000,")
	})
	load := submit(t, "alice", "--gpu-ids 0 --max-load 50% -- true")
	used := submit(t, "alice", "--gpu-ids 1 --max-used 0.5 -- true")
	waitsFor(t, "alice", load, "busy to 60 %, at most 50 % allowed")
	waitsFor(t, "alice", used, "at most 50 % allowed")
	if on := onGPUs(t, submit(t, "bob", "-g 2 --max-load 0.5 --max-used 0.5 -- sleep 1000")); on != "2,3" {
		t.Errorf("the two quiet GPUs are %s", on)
	}
	mustEnd(t, wait(t, submit(t, "bob", "--gpu-ids 0 -- true")), "completed", "exit code 0") // the site's own threshold is 80 %
	gpus("", "")
	mustEnd(t, wait(t, load), "completed", "exit code 0")
	mustEnd(t, wait(t, used), "completed", "exit code 0")
}

// TestSchedulerIslands: a job with several GPUs gets GPUs that are connected to each other, and
// runs on the CPUs closest to them.
func TestSchedulerIslands(t *testing.T) {
	begin(t)
	sh(t, "", "for i in 4 5 6 7; do [ -e /dev/nvidia$i ] || mknod -m 666 /dev/nvidia$i c 195 $i; done; printf '"+
		strings.ReplaceAll(fakenvml.GPUsText(fakenvml.Islands()...), "\n", "\\n")+"' > "+vm.FakeNVMLGPUs+"; systemctl restart gpusched")
	t.Cleanup(func() { sh(t, "", "rm -f /dev/nvidia[4-7] "+vm.FakeNVMLGPUs+"; systemctl restart gpusched") })
	poll(t, "eight GPUs are seen", func() bool { return strings.Contains(sh(t, "", "gpusched gpus"), "\n  7  ") })
	if out := sh(t, "alice", "gpusched gpus --topology"); !strings.Contains(out, "NV4") || !strings.Contains(out, "cross") {
		t.Errorf("the topology:\n%s", out)
	}
	where := func(user, args, gpus, cpus string) {
		id := submit(t, user, args+` -- bash -c 'echo cpus $(taskset -cp $$ | sed "s/.*: //").; sleep 1000'`)
		if on := onGPUs(t, id); on != gpus {
			t.Errorf("%s is on GPUs %s, want %s", args, on, gpus)
		}
		if out := waitText(t, id, "cpus"); !strings.Contains(out, "cpus "+cpus+".") {
			t.Errorf("the job on GPUs %s says %s, want %s", gpus, out, cpus)
		}
	}
	where("alice", "-g 3", "0,1,2", "0")
	where("alice", "-g 2", "4,5", "1") // GPUs 3 and 4 are free and have lower numbers, but are not connected
	where("bob", "-g 2", "6,7", "1")
	where("bob", "-g 0.5", "3", "0")
}

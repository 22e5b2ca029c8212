//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// TestLimitsMemory: a job that goes over its host memory is out-of-memory, its
// neighbour lives, and swap is no way out.
func TestLimitsMemory(t *testing.T) {
	begin(t)
	neighbour := submit(t, "bob", "-g 1 -m 200M -- sleep 1000")
	running(t, neighbour)
	hungry := submit(t, "alice", "-g 1 -m 100M -- simcuda --alloc-host 300M")
	ended(t, wait(t, hungry), "out-of-memory", "host memory limit of 100M")
	if j := show(t, "", neighbour); j.State != "running" {
		t.Errorf("the neighbour is %s", j.State)
	}
	if got := sh(t, "", fmt.Sprintf("cat /sys/fs/cgroup/gpujobs.slice/gpujobs-u1002.slice/gpujob-%d.service/memory.swap.max", neighbour)); got != "0" {
		t.Errorf("memory.swap.max is %s", got)
	}
	if r := try(t, "alice", fmt.Sprintf("gpusched wait %d", hungry)); r.Code != 137 {
		t.Errorf("wait exits %d, want 137", r.Code)
	}
}

// TestLimitsTasksAndCPUs: the numbers arrive in the control group, and a job
// can't fork beyond its own.
func TestLimitsTasksAndCPUs(t *testing.T) {
	begin(t)
	sh(t, "", "mkdir -p /etc/gpusched/conf.d; printf '[jobs]\\ntasks_max = 50\\n' > /etc/gpusched/conf.d/test.toml; systemctl restart gpusched")
	t.Cleanup(func() { sh(t, "", "rm /etc/gpusched/conf.d/test.toml; systemctl restart gpusched") })
	id := submit(t, "alice", "-g 0 -c 1 -- bash -c 'simcuda --fork-bomb 200 --hold 1000; echo bombed; sleep 1000'")
	printed(t, id, "bombed")
	group := fmt.Sprintf("/sys/fs/cgroup/gpujobs.slice/gpujobs-u1001.slice/gpujob-%d.service", id)
	for file, want := range map[string]string{"pids.max": "50", "cpu.max": "100000 100000"} {
		if got := sh(t, "", "cat "+group+"/"+file); got != want {
			t.Errorf("%s is %q, want %q", file, got, want)
		}
	}
	if n := sh(t, "", "cat "+group+"/pids.current"); len(n) > 2 {
		t.Errorf("%s tasks of 50", n)
	}
	if out := sh(t, "", "gpusched health || true"); !strings.Contains(out, "memory, tasks and CPU limits are enforced") {
		t.Errorf("health: %s", out)
	}
}

// TestResourceLimits: the submitter's resource limits are the job's.
func TestResourceLimits(t *testing.T) {
	begin(t)
	var id int64
	out := sh(t, "", "prlimit --nofile=777:888 --memlock=1048576:2097152 setpriv --reuid 1001 --regid 1001 --init-groups sh -c 'cd /tmp; gpusched submit -q -g 0 -- bash -c \"ulimit -Sn; ulimit -Hn; ulimit -Sl; ulimit -Hl; echo told\"'")
	if _, err := fmt.Sscan(out, &id); err != nil {
		t.Fatal(out)
	}
	if got, want := strings.Fields(printed(t, id, "told")), []string{"777", "888", "1024", "2048", "told"}; strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("limits %v, want %v", got, want)
	}
}

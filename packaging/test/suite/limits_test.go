//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// TestLimitsMemory: a job that exceeds its host memory ends as out-of-memory. Another job
// continues, and no job has swap.
func TestLimitsMemory(t *testing.T) {
	begin(t)
	neighbour := submit(t, "bob", "-g 1 -m 200M -- sleep 1000")
	waitRun(t, neighbour)
	hungry := submit(t, "alice", "-g 1 -m 100M -- simcuda --alloc-host 300M")
	mustEnd(t, wait(t, hungry), "out-of-memory", "host memory limit of 100M")
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

// TestLimitsMemoryMoves: a job whose memory is raised while it runs can use more than its first
// limit, and is killed at the limit to which it is lowered.
func TestLimitsMemoryMoves(t *testing.T) {
	begin(t)
	sh(t, "", "rm -f /tmp/step-1 /tmp/step-2")
	id := submit(t, "alice", `-g 0 -m 100M -- bash -c 'upto() { while [ ! -e /tmp/step-$1 ]; do sleep 0.1; done; }; upto 1; simcuda --alloc-host 150M --hold 1000 & upto 2; simcuda --alloc-host 200M'`)
	waitRun(t, id)
	sh(t, "alice", fmt.Sprintf("gpusched update %d -m 400M", id))
	sh(t, "", "touch /tmp/step-1")
	poll(t, "the job uses more than its first limit", func() bool {
		used := sh(t, "", fmt.Sprintf("cat /sys/fs/cgroup/gpujobs.slice/gpujobs-u1001.slice/gpujob-%d.service/memory.current", id))
		return len(used) > 9 || len(used) == 9 && used >= "150000000"
	})
	mustFail(t, "alice", fmt.Sprintf("gpusched update %d -m 120M", id), 1, "its limit can't go below")
	sh(t, "alice", fmt.Sprintf("gpusched update %d -m 300M; touch /tmp/step-2", id))
	mustEnd(t, wait(t, id), "out-of-memory", "host memory limit of 300M")
}

// TestLimitsTasksAndCPUs: a job's control group has the job's limits, and the job cannot fork more
// processes than its limit allows.
func TestLimitsTasksAndCPUs(t *testing.T) {
	begin(t)
	sh(t, "", "mkdir -p /etc/gpusched/conf.d; printf '[jobs]\\ntasks_max = 50\\n' > /etc/gpusched/conf.d/test.toml; systemctl restart gpusched")
	t.Cleanup(func() { sh(t, "", "rm /etc/gpusched/conf.d/test.toml; systemctl restart gpusched") })
	id := submit(t, "alice", "-g 0 -c 1 -- bash -c 'simcuda --fork-bomb 200 --hold 1000; echo bombed; sleep 1000'")
	waitText(t, id, "bombed")
	group := fmt.Sprintf("/sys/fs/cgroup/gpujobs.slice/gpujobs-u1001.slice/gpujob-%d.service", id)
	for file, want := range map[string]string{"pids.max": "50", "cpu.max": "100000 100000", "cpu.weight": "10"} {
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

// TestCPUsThatGo: jobs get no CPUs that have gone offline. A running job continues. A job that
// needs more CPUs waits and says so, and starts when the CPUs are back.
func TestCPUsThatGo(t *testing.T) {
	begin(t)
	const online = "/sys/devices/system/cpu/online"
	plug := func(list string) { sh(t, "", "echo "+list+" > /run/cpus") }
	plug("0-15")
	sh(t, "", "mount --bind /run/cpus "+online)
	t.Cleanup(func() { sh(t, "", "umount -l "+online+"; rm /run/cpus; systemctl restart gpusched") })
	settings(t, "[jobs]\ncpus = \"100%\"\nshare_without_gpu = 100")
	runs := submit(t, "alice", "-g 0 -c 9 -- sleep 1000")
	waitRun(t, runs)
	waits := submit(t, "bob", "-g 0 -c 8 -- sleep 1000")
	plug("0-3")
	poll(t, "the CPUs are counted anew", func() bool {
		return strings.Contains(askWhy(t, "bob", waits), "at present it can never start: asks for 8 CPUs, this machine has 4 CPUs")
	})
	mustFail(t, "bob", "gpusched submit -g 0 -c 5 -- true", 6, "4 CPUs")
	if j := show(t, "", runs); j.State != "running" {
		t.Errorf("the job that ran is %s", j.State)
	}
	plug("0-19")
	sh(t, "", "systemctl reload gpusched") // the reload makes the daemon count the CPUs at once; above, it took up to 5 s
	waitRun(t, waits)
	cancel(t, "alice", runs)
	cancel(t, "bob", waits)
}

// TestLimitsForkBomb: a job forks as fast as it can and prints in each process. The daemon still
// answers, and other jobs still run.
func TestLimitsForkBomb(t *testing.T) {
	settings(t, "[jobs]\ntasks_max = 100")
	attacker(t)
	// A shell that cannot fork exits. The first shell therefore forks only once, and waits.
	sh(t, "bob", "rm -f ~/pipe; mkfifo ~/pipe")
	bomb := int64(0)
	measureDuring(t, "fork bomb and output", func() {
		bomb = submit(t, "bob", `-g 0 -c 1 --grace 1s -- bash -c 'bomb() { while :; do bomb & echo boom; done; }; bomb 2>/dev/null & read <~/pipe'`)
		waitRun(t, bomb)
		mustEnd(t, wait(t, submit(t, "alice", "-g 0 -- true")), "completed", "exit code 0")
	})
	group := fmt.Sprintf("/sys/fs/cgroup/gpujobs.slice/gpujobs-u1002.slice/gpujob-%d.service", bomb)
	poll(t, "the bomb is at its limit", func() bool { return sh(t, "", "cat "+group+"/pids.events") != "max 0" })
	n := 0
	if fmt.Sscan(sh(t, "", "cat "+group+"/pids.current"), &n); n < 2 || n > 100 {
		t.Errorf("the bomb has %d of 100 processes", n)
	}
	cancel(t, "bob", bomb)
	if try(t, "", "test -d "+group).Code == 0 {
		t.Errorf("the bomb's control group is left")
	}
}

// TestLimitsForkBombOfManyJobs: a user's fork bomb is spread over many
// jobs, each below its own limit. The user's limit stops it. Another
// user's job can still fork, and the daemon can start that job.
func TestLimitsForkBombOfManyJobs(t *testing.T) {
	attacker(t)
	const user, all = 150, 600
	t.Cleanup(func() { sh(t, "", "systemctl revert gpujobs-u1002.slice gpujobs.slice") })
	sh(t, "", fmt.Sprintf("systemctl set-property --runtime gpujobs-u1002.slice TasksMax=%d; systemctl set-property --runtime gpujobs.slice TasksMax=%d", user, all))
	var bombs []int64
	const bomb = `-g 0 --grace 1s -- bash -c 'simcuda --fork-bomb 100 --hold 1000; sleep 1000'`
	const group = "/sys/fs/cgroup/gpujobs.slice/gpujobs-u1002.slice/"
	measureDuring(t, "fork bomb of many jobs", func() {
		for range 4 {
			bombs = append(bombs, submit(t, "bob", bomb))
		}
		poll(t, "the bombs are at the limit of their user", func() bool {
			// Older kernels count a refused fork in the group of the forking process. Newer kernels
			// count it in the group that has the limit.
			return try(t, "", "grep -q 'max [1-9]' "+group+"pids.events "+group+"*/pids.events").Code == 0
		})
		forks := submit(t, "alice", "-g 0 -- bash -c 'for i in $(seq 100); do sleep 1000 & done; jobs -p | wc -l; kill $(jobs -p)'")
		mustEnd(t, wait(t, forks), "completed", "exit code 0")
		if out := output(t, "", forks); !strings.Contains(out, "100") {
			t.Errorf("another user's job could not fork: %s", out)
		}
	})
	var n int
	if fmt.Sscan(sh(t, "", "cat "+group+"pids.current"), &n); n < 100 || n > user+len(bombs)*4 {
		t.Errorf("the bombs have %d of %d processes", n, user)
	}
	for _, id := range bombs {
		try(t, "bob", fmt.Sprintf("gpusched cancel %d", id))
	}
	for _, id := range bombs {
		wait(t, id)
	}
}

// TestLimitsNote: if a job has hardly any host memory left, the daemon writes no message into the
// job's journal, because the message could get the job killed.
func TestLimitsNote(t *testing.T) {
	begin(t)
	settings(t, "[gpus]\nsample_interval = \"1s\"\n[gpu_memory]\ntolerance = \"100M\"")
	const args = "-g 0.5 --gpu-mem 1G --no-requeue -m 200M -- bash -c 'simcuda --alloc-host %s --hold 1000 | { read touched; simcuda --mem 5G --hold 1000; }'"
	roomy, tight := submit(t, "alice", fmt.Sprintf(args, "20M")), submit(t, "alice", fmt.Sprintf(args, "175M"))
	over := func(id int64) bool { return len(show(t, "", id).Warnings) > 0 }
	poll(t, "both are over their budgets", func() bool { return over(roomy) && over(tight) })
	poll(t, "the job with room is told", func() bool { return strings.Contains(messagesIn(t, "alice", roomy)[0], "this job uses 5G") })
	poll(t, "the daemon says that it does not tell the other job", func() bool {
		return try(t, "", fmt.Sprintf("journalctl -u gpusched | grep 'job %d has only .* of its memory left'", tight)).Code == 0
	})
	if j := show(t, "", tight); j.State != "running" || messagesIn(t, "alice", tight)[0] != "" {
		t.Errorf("the job without room: %s, %q", j.State, messagesIn(t, "alice", tight))
	}
	cancel(t, "alice", roomy, tight)
}

// TestResourceLimits: a job has its submitter's resource limits.
func TestResourceLimits(t *testing.T) {
	begin(t)
	var id int64
	out := sh(t, "", "prlimit --nofile=777:888 --memlock=1048576:2097152 setpriv --reuid 1001 --regid 1001 --init-groups sh -c 'cd /tmp; gpusched submit -q -g 0 -- bash -c \"ulimit -Sn; ulimit -Hn; ulimit -Sl; ulimit -Hl; echo told\"'")
	if _, err := fmt.Sscan(out, &id); err != nil {
		t.Fatal(out)
	}
	if got, want := strings.Fields(waitText(t, id, "told")), []string{"777", "888", "1024", "2048", "told"}; strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("limits %v, want %v", got, want)
	}
}

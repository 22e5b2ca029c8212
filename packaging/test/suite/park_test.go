//go:build machine

package suite

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// summing is a command that has 40 GiB on its GPU and computes for some seconds. The sum that it
// prints depends on every step, and is lost if its GPU memory is. The first step of staying lasts
// until alice has the file ~/finish.
const (
	summing = "simcuda --mem 40G --hold %d --sum"
	staying = summing + " --until ~/finish"
)

// parks lets the site park jobs, with further settings. The machine seems to have 256 GiB of memory.
func parks(t *testing.T, lines string) {
	t.Helper()
	const dir = "/run/systemd/system/gpusched.service.d"
	t.Cleanup(func() {
		sh(t, "", "rm -rf "+dir+" /run/meminfo /run/fakenvml/park; systemctl daemon-reload; systemctl restart gpusched")
	})
	sh(t, "", "sed 's/^MemTotal:.*/MemTotal: 268435456 kB/' /proc/meminfo > /run/meminfo; mkdir -p "+dir+
		"; printf '[Service]\\nBindReadOnlyPaths=/run/meminfo:/proc/meminfo\\n' > "+dir+"/memory.conf; systemctl daemon-reload")
	sh(t, "alice", "rm -f ~/finish")
	settings(t, quickSampling+"\n[park]\nallow = true\n"+lines)
	driver(t, "")
	gpusSeen(t)
	withCUDA(t)
}

// driver says what the driver's calls do that park a process. Each GiB takes 10 ms.
func driver(t *testing.T, rules string) {
	t.Helper()
	sh(t, "", "echo ms_per_gib=10 "+rules+" > /run/fakenvml/park")
}

// waitUses waits until samples show that a job uses its GPU.
func waitUses(t *testing.T, id int64) {
	t.Helper()
	waitRun(t, id)
	poll(t, "the job uses its GPU", func() bool { g := show(t, "", id).GPUs; return len(g) > 0 && g[0].UsedBytes > 0 })
}

// parkState returns how far a job is parked; "": it is not.
func parkState(t *testing.T, id int64) job.ParkState {
	t.Helper()
	if j := show(t, "", id); j.Parked != nil {
		return j.Parked.State
	}
	return job.NotParked
}

func waitParked(t *testing.T, id int64, want job.ParkState) {
	t.Helper()
	poll(t, fmt.Sprintf("job %d is %q", id, want), func() bool { return parkState(t, id) == want })
}

// gpu0 returns the first GPU in the daemon's last sample.
func gpu0(t *testing.T) api.GPU {
	t.Helper()
	var r api.GPUsReply
	poll(t, "the GPUs are known", func() bool {
		return json.Unmarshal([]byte(try(t, "", "gpusched gpus --json").Stdout), &r) == nil && len(r.GPUs) > 0
	})
	return r.GPUs[0]
}

// sameSum checks that both jobs completed in their first attempts, and that each printed one sum
// alone, the same one.
func sameSum(t *testing.T, id, alone int64) {
	t.Helper()
	sums := map[string]bool{}
	for _, id := range []int64{id, alone} {
		j := wait(t, id)
		mustEnd(t, j, "completed", "exit code 0")
		if j.Attempt != 1 || j.Requeues != 0 {
			t.Errorf("job %d had %d attempts and %d requeues", id, j.Attempt, j.Requeues)
		}
		for _, sum := range regexp.MustCompile("sum [0-9a-f]+").FindAllString(waitText(t, id, "sum "), -1) {
			sums[sum] = true
		}
	}
	if len(sums) != 1 {
		t.Errorf("the sums %v should be the same", sums)
	}
}

// opensGPU0 reports whether a unit's device filter has GPU 0.
func opensGPU0(t *testing.T, id int64) bool {
	t.Helper()
	return strings.Contains(sh(t, "", fmt.Sprintf("systemctl show -P DeviceAllow gpujob-%d", id)), "/dev/char/195:0 ")
}

// TestPark: a parked job has no GPU, and another job runs there. Its unit can't open the GPU and is
// frozen, and its time limit stands still. It gets the GPU back when that is free, and computes the
// same as a job that nobody parks.
func TestPark(t *testing.T) {
	begin(t)
	parks(t, "")
	command := fmt.Sprintf(staying, 2)
	alone := submit(t, "alice", "--gpu-ids 3 -- "+command)
	id := submit(t, "alice", "--gpu-ids 0 -t 1h -- "+command)
	waitUses(t, id)
	mustFail(t, "bob", fmt.Sprintf("gpusched park %d", id), 4, "")
	sh(t, "alice", fmt.Sprintf("gpusched park %d", id))
	waitParked(t, id, job.IsParked)
	poll(t, "the GPU is empty", func() bool { g := gpu0(t); return g.MemUsedBytes == 0 && g.State == job.GPUFree })
	if opensGPU0(t, id) || sh(t, "", fmt.Sprintf("systemctl show -P FreezerState gpujob-%d", id)) != "frozen" {
		t.Error("the unit is not frozen, or can open the GPU")
	}
	if out := sh(t, "bob", fmt.Sprintf("gpusched list %d", id)); !strings.Contains(out, "parked by alice since") {
		t.Errorf("list: %s", out)
	}
	other, release := submitHold(t, "bob", "--gpu-ids 0", "simcuda --mem 60G --hold 0.1")
	mustFail(t, "bob", fmt.Sprintf("gpusched unpark %d", id), 4, "")
	sh(t, "alice", fmt.Sprintf("gpusched unpark %d", id))
	poll(t, "the job waits for its GPU", func() bool {
		return strings.Contains(sh(t, "bob", fmt.Sprintf("gpusched list %d", id)), "waits for its GPUs")
	})
	sh(t, "", killDaemon)
	release()
	mustEnd(t, wait(t, other), "completed", "exit code 0")
	waitParked(t, id, job.NotParked)
	if j := show(t, "", id); !opensGPU0(t, id) || j.SuspendedTime == 0 || j.Parked != nil {
		t.Errorf("it has its GPU again: %+v", j)
	}
	sh(t, "alice", "touch ~/finish")
	sameSum(t, id, alone)
}

// TestParkMakesRoom: the site parks a job to make room for another, and nothing is stopped. The job
// returns by itself.
func TestParkMakesRoom(t *testing.T) {
	begin(t)
	parks(t, "preempt = true\n[scheduling]\nslice = \"1s\"")
	command := fmt.Sprintf(staying, 3)
	alone := submit(t, "alice", "--gpu-ids 3 -- "+command)
	id := submit(t, "alice", "-p low --gpu-ids 0 -- "+command)
	waitUses(t, id)
	other, release := submitHold(t, "bob", "--gpu-ids 0", "simcuda --mem 60G --hold 0.1")
	if out := sh(t, "bob", fmt.Sprintf("gpusched list %d", id)); !strings.Contains(out, fmt.Sprintf("parked for job %d since", other)) {
		t.Errorf("list: %s", out)
	}
	release()
	mustEnd(t, wait(t, other), "completed", "exit code 0")
	sh(t, "alice", "touch ~/finish")
	sameSum(t, id, alone)
	events := sh(t, "", "gpusched events -o jsonl --since 0 || true")
	if text := strings.Join(strings.Fields(fmt.Sprint(kindsOf(eventsIn(t, events+"\n"), id))), " "); !strings.Contains(text, "job-parked") || strings.Contains(text, "requeue") {
		t.Errorf("its events: %s", text)
	}
}

// TestParkMoves: a parked job goes on with another GPU while its own is in use, on which the driver
// refuses to put it at first. A process that it starts later finds that GPU, and computes the same. A
// scheduler that lost its state file knows which GPU the job has.
func TestParkMoves(t *testing.T) {
	begin(t)
	parks(t, "")
	sum := fmt.Sprintf(staying, 2)
	alone := submit(t, "alice", "--gpu-ids 3 -- "+sum)
	id := submit(t, "alice", "--gpus-from 0,1 -- bash -c '"+sum+"; "+sum+"'")
	waitUses(t, id)
	own := show(t, "alice", id).GPUs[0].Index
	sh(t, "alice", fmt.Sprintf("gpusched park %d", id))
	waitParked(t, id, job.IsParked)
	holds, release := submitHold(t, "bob", fmt.Sprintf("--gpu-ids %d", own), "simcuda --mem 60G --hold 0.1")
	driver(t, "fail=restore:1")
	sh(t, "alice", fmt.Sprintf("gpusched unpark %d", id))
	poll(t, "it waits for its own GPU", func() bool {
		why := sh(t, "alice", fmt.Sprintf("gpusched why %d", id))
		return strings.Contains(why, fmt.Sprintf("job %d", holds)) && parkState(t, id) == job.IsParked
	})
	driver(t, "")
	release()
	mustEnd(t, wait(t, holds), "completed", "exit code 0")
	waitParked(t, id, job.NotParked)
	sh(t, "alice", "touch ~/finish")
	sameSum(t, id, alone)

	sh(t, "alice", "rm -f ~/finish")
	id = submit(t, "alice", "--gpus-from 0,1 -- bash -c '"+sum+"; "+sum+"'")
	waitUses(t, id)
	own = show(t, "alice", id).GPUs[0].Index
	sh(t, "alice", fmt.Sprintf("gpusched park %d", id))
	waitParked(t, id, job.IsParked)
	holds, release = submitHold(t, "bob", fmt.Sprintf("--gpu-ids %d", own), "simcuda --mem 60G --hold 0.1")
	sh(t, "alice", fmt.Sprintf("gpusched unpark %d", id))
	waitParked(t, id, job.NotParked)
	if got := show(t, "alice", id).GPUs[0].Index; got != 1-own {
		t.Errorf("the job has GPU %d", got)
	}
	if out := sh(t, "", fmt.Sprintf("journalctl -q -o cat _SYSTEMD_UNIT=gpujob-%[1]d.service + UNIT=gpujob-%[1]d.service", id)); !strings.Contains(out, fmt.Sprintf("on GPU %d instead of %d", 1-own, own)) {
		t.Errorf("its journal: %s", out)
	}
	restore := loseState(t)
	poll(t, "the job is known", func() bool { return try(t, "", fmt.Sprintf("gpusched show %d", id)).Code == 0 })
	if got := show(t, "", id).GPUs[0].Index; got != 1-own {
		t.Errorf("from its unit, the job is known to have GPU %d", got)
	}
	restore()
	sh(t, "alice", "touch ~/finish")
	release()
	sameSum(t, id, alone)
}

// TestParkKills: the daemon is killed 50 times while a job is parked and unparked, and others use its
// GPU. All that the job computes is right, it runs once, and no GPU is held by two jobs.
func TestParkKills(t *testing.T) {
	begin(t)
	parks(t, "")
	random := chance(t)
	one := fmt.Sprintf(summing, 1)
	alone := submit(t, "alice", "--gpu-ids 3 -- "+one)
	id := submit(t, "alice", "--gpu-ids 0 -- bash -c 'until [ -e ~/finish ]; do "+one+" || exit; done'")
	waitUses(t, id)
	var others []int64
	killed := map[job.ParkState]int{}
	act := func(word string) bool { return try(t, "alice", fmt.Sprintf("gpusched %s %d", word, id)).Code == 0 }
	for n := range 50 {
		switch parkState(t, id) {
		case job.NotParked:
			poll(t, "the job can be parked", func() bool { return act("park") })
		case job.IsParked:
			act("unpark")
		}
		if n%10 == 0 {
			others = append(others, submit(t, "bob", "--gpu-ids 0 -- simcuda --mem 60G --hold 0.1"))
		}
		<-time.After(time.Duration(random.IntN(300)) * time.Millisecond)
		killed[parkState(t, id)]++
		if sh(t, "", killDaemon); n%5 == 0 && len(gpu0(t).Jobs) > 1 {
			t.Error("GPU 0 is held by two jobs")
		}
	}
	t.Logf("killed while the job was: %v", killed)
	poll(t, "the job has its GPU", func() bool {
		act("unpark")
		if parkState(t, id) == job.NotParked {
			return true
		}
		sh(t, "", fmt.Sprintf("gpusched why %d; gpusched gpus; gpusched list", id)) // for the message
		return false
	})
	sh(t, "alice", "touch ~/finish")
	for _, other := range others {
		mustEnd(t, wait(t, other), "completed", "exit code 0")
	}
	sameSum(t, id, alone)
	if len(killed) < 4 {
		t.Errorf("the daemon was killed in the states %v alone", killed)
	}
}

// TestParkRefused: a job that the driver can't park runs on, and is not parked again. A helper that
// hangs is waited for, also by another daemon. A job that can't have its GPU memory back has failed,
// and is queued again where it may be.
func TestParkRefused(t *testing.T) {
	begin(t)
	parks(t, "")
	alone := submit(t, "alice", "--gpu-ids 3 -- "+fmt.Sprintf(staying, 1))
	id := submit(t, "alice", "--gpu-ids 0 -- "+fmt.Sprintf(staying, 1))
	waitUses(t, id)
	driver(t, "fail=checkpoint:801")
	sh(t, "alice", fmt.Sprintf("gpusched park %d", id))
	const word = "801 CUDA_ERROR_NOT_SUPPORTED"
	poll(t, "show has the driver's word", func() bool {
		return strings.Contains(sh(t, "alice", fmt.Sprintf("gpusched show %d", id)), word)
	})
	mustFail(t, "alice", fmt.Sprintf("gpusched park %d", id), 1, word)
	sh(t, "alice", "touch ~/finish")
	sameSum(t, id, alone)
	for _, again := range []bool{true, false} {
		driver(t, "hang=checkpoint")
		sh(t, "alice", "rm -f ~/finish")
		id := submit(t, "alice", fmt.Sprintf("--requeue=%t --gpu-ids 0 -- %s", again, fmt.Sprintf(staying, 1)))
		waitUses(t, id)
		sh(t, "alice", fmt.Sprintf("gpusched park %d", id))
		waitParked(t, id, job.ParkTakes)
		sh(t, "", killDaemon)
		driver(t, "fail=restore:999 failed=1")
		waitParked(t, id, job.IsParked)
		sh(t, "alice", fmt.Sprintf("gpusched unpark %d", id))
		if again {
			sh(t, "alice", "touch ~/finish")
			j := wait(t, id)
			mustEnd(t, j, "completed", "exit code 0")
			if j.Attempt != 2 {
				t.Errorf("it had %d attempts", j.Attempt)
			}
			continue
		}
		mustEnd(t, wait(t, id), "failed", "999 CUDA_ERROR_UNKNOWN")
	}
}

// TestParkIdle: the site parks a notebook that does not use its GPU. It still runs, without a GPU,
// and has the GPU again when it works.
func TestParkIdle(t *testing.T) {
	begin(t)
	parks(t, "[idle]\naction = \"park\"\nafter = \"2s\"\ngrace = \"1s\"")
	sh(t, "alice", "rm -f ~/awake ~/finish")
	id := submit(t, "alice", `--gpu-ids 0 -- bash -c 'simcuda --mem 5G --util 0 --hold 1000 &
		until [ -e ~/awake ]; do sleep 0.1; done; until [ -e ~/finish ]; do (: < /dev/nvidia0) 2>&1 | tail -c 40 > ~/opens; done'`)
	waitParked(t, id, job.IsParked)
	if out := sh(t, "bob", fmt.Sprintf("gpusched list %d", id)); !strings.Contains(out, "did not use its GPUs") {
		t.Errorf("list: %s", out)
	}
	other, release := submitHold(t, "bob", "--gpu-ids 0", "true")
	sh(t, "alice", "touch ~/awake")
	opens := func(word string) {
		t.Helper()
		poll(t, "the notebook reads "+word, func() bool { return strings.Contains(sh(t, "alice", "cat ~/opens || true"), word) })
	}
	opens("not permitted")
	poll(t, "it waits for its GPU", func() bool {
		return strings.Contains(sh(t, "bob", fmt.Sprintf("gpusched list %d", id)), "waits for its GPUs")
	})
	release()
	mustEnd(t, wait(t, other), "completed", "exit code 0")
	waitParked(t, id, job.NotParked)
	opens("No such device")
	cancel(t, "alice", id)
}

// TestLimitsPark: the kernel lets a parked job have the copy of its GPU memory beside what it asked for,
// and again only the latter when it has its GPU memory back.
func TestLimitsPark(t *testing.T) {
	begin(t)
	parks(t, "")
	const own, gpu = 512 << 20, 2 << 30
	id := submit(t, "alice", "--gpu-ids 0 -m 512M -- simcuda --mem 2G --hold 1000")
	waitUses(t, id)
	limit := func() (bytes int64) {
		t.Helper()
		text := sh(t, "", fmt.Sprintf("cat /sys/fs/cgroup/gpujobs.slice/gpujobs-u1001.slice/gpujob-%d.service/memory.max", id))
		if _, err := fmt.Sscan(text, &bytes); err != nil {
			t.Fatalf("memory.max is %s", text)
		}
		return bytes
	}
	if got := limit(); got != own {
		t.Errorf("before, the limit is %d", got)
	}
	sh(t, "alice", fmt.Sprintf("gpusched park %d", id))
	waitParked(t, id, job.IsParked)
	if got := limit(); got < own+gpu {
		t.Errorf("while it is parked, the limit is %d", got)
	}
	sh(t, "alice", fmt.Sprintf("gpusched unpark %d", id))
	waitParked(t, id, job.NotParked)
	poll(t, "the limit is as before", func() bool { return limit() == own })
	cancel(t, "alice", id)
}

package words

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

func TestResult(t *testing.T) {
	covered := map[job.State]bool{}
	for _, c := range []struct {
		result   job.Result
		code     int
		sentence string
	}{
		{job.Result{Outcome: job.Completed}, 0, "completed: exit code 0"},
		{job.Result{Outcome: job.Failed, ExitCode: 3}, 3, "failed: exit code 3"},
		{job.Result{Outcome: job.Failed, ExitCode: 3, Detail: job.Say("detail/blamed", 2)}, 3,
			"failed: exit code 3; earlier jobs on GPU 2 failed, too, so that GPU is suspect now and this job was queued again"},
		{job.Result{Outcome: job.Failed, ExitCode: 255}, 255, "failed: exit code 255"},
		{job.Result{Outcome: job.Failed, ExitCode: 127}, 127, "failed: exit code 127 (in a shell: a command was not found)"},
		{job.Result{Outcome: job.Failed, ExitCode: 126}, 126, "failed: exit code 126 (in a shell: a command cannot be executed)"},
		{job.Result{Outcome: job.Failed, ExitCode: 139}, 139, "failed: exit code 139 (in a shell: SEGV ended a command)"},
		{job.Result{Outcome: job.Failed, Launch: contract.StepExec, Errno: 8}, 126, "could not start: its command could not be run: exec format error"},
		{job.Result{Outcome: job.Failed, Signal: 11}, 139, "killed by signal 11 (SEGV)"},
		{job.Result{Outcome: job.Failed, Signal: 34}, 162, "killed by signal 34 (RT34)"},
		{job.Result{Outcome: job.Cancelled, By: "alice"}, 143, "cancelled by alice"},
		{job.Result{Outcome: job.Cancelled}, 143, "cancelled"},
		{job.Result{Outcome: job.Cancelled, By: "alice", MemBytes: 4 << 30}, 143, "cancelled by alice; it ran out of memory while it was being stopped (its limit is 4G)"},
		{job.Result{Outcome: job.Cancelled, Signal: 9, By: "root"}, 137, "cancelled by root"},
		{job.Result{Outcome: job.Cancelled, ExitCode: 5}, 5, "cancelled"},
		{job.Result{Outcome: job.TimedOut, Limit: job.Span(2 * time.Hour)}, 124, "stopped at its time limit of 2h (ask for more with --time)"},
		{job.Result{Outcome: job.TimedOut, Limit: job.Span(90 * time.Second), Signal: 9}, 124, "stopped at its time limit of 1m30s (ask for more with --time)"},
		{job.Result{Outcome: job.OutOfMemory, MemBytes: 20 << 30, PeakBytes: 20<<30 - 1<<20, Signal: 9}, 137, "killed for going over its host memory limit of 20G (ask for more with --mem)"},
		{job.Result{Outcome: job.OutOfMemory, MemBytes: 20 << 30, PeakBytes: 18 << 30}, 137, "killed because the host ran out of memory, or jobs together reached a limit: this one used at most 18G of its 20G"},
		{job.Result{Outcome: job.OutOfMemory, MemBytes: 20 << 30}, 137, "killed for going over its host memory limit of 20G (ask for more with --mem), or because the host ran out of memory"},
		{job.Result{Outcome: job.OutOfMemory}, 137, "killed because the host ran out of memory"},
		{job.Result{Outcome: job.GPUOutOfMemory, For: 13, Breach: &job.Breach{GPU: 2, UsedBytes: 30 << 30, BudgetBytes: 20 << 30}}, 137, "stopped for using 30G of the memory of GPU 2, 10G more than the 20G it was promised, when job 13 was short of its own (ask for more with --gpu-mem)"},
		{job.Result{Outcome: job.GPUOutOfMemory, For: 13}, 137, "stopped for using GPU memory that job 13 was promised (ask for more with --gpu-mem)"},
		{job.Result{Outcome: job.Cancelled, Cause: job.StopIdle, Breach: &job.Breach{Idle: job.Span(40*time.Minute + 300*time.Millisecond)}}, 143, "cancelled by the site: it had not used its GPUs for 40m"},
		{job.Result{Outcome: job.Cancelled, Cause: job.StopTrespass, Breach: &job.Breach{GPU: 3}}, 143, "cancelled by the site: it used GPU 3, which it does not have"},
		{job.Result{Outcome: job.Cancelled, Cause: job.StopTrespass}, 143, "cancelled by the site: it used a GPU that it does not have"},
		{job.Result{Outcome: job.Cancelled, Cause: job.StopIdle}, 143, "cancelled by the site: it did not use its GPUs"},
		{job.Result{Outcome: job.Lost, Detail: job.Text("the machine was restarted while the job ran")}, 125, "lost: the machine was restarted while the job ran"},
		{job.Result{Outcome: job.Failed, Launch: contract.StepSpec, ExitCode: 225}, 125, "could not start: the instructions for it could not be written or read"},
		{job.Result{Outcome: job.Failed, Launch: contract.StepChdir, Errno: 13, ExitCode: 200}, 125, "could not start: its working directory could not be entered: permission denied"},
		{job.Result{Outcome: job.Failed, Launch: contract.StepShell, Errno: 2, ExitCode: 203}, 125,
			"could not start: its user's login shell, which --env login needs, could not be run, or exited before the command: no such file or directory"},
		{job.Result{Outcome: job.Failed, Launch: contract.StepExec, Errno: 2, ExitCode: 203}, 127, "could not start: its command could not be run: no such file or directory"},
		{job.Result{Outcome: job.Failed, Launch: contract.StepFilter, ExitCode: 226}, 125, "could not start: its GPUs could not be opened, or GPUs of other jobs could"},
		{job.Result{Outcome: job.Failed, Launch: contract.StepScratch, Errno: 28, ExitCode: 238}, 125, "could not start: its scratch directory could not be made: no space left on device"},
		{job.Result{Outcome: job.Failed, Launch: contract.StepContainer, ExitCode: 223}, 125, "could not start: its image could not be pulled, or the engine that runs its container does not work (see its output)"},
		{job.Result{Outcome: job.Failed, Launch: contract.StepSetup, ExitCode: 223}, 125, "could not start: its set-up failed (see its output)"},
		{job.Result{Outcome: job.Failed, Launch: contract.StepLimits, Errno: 1, Detail: job.Text("NOFILE")}, 125, "could not start: its resource limits could not be set: operation not permitted (NOFILE)"},
		{job.Result{Outcome: job.Failed, ExitCode: 1, GPUError: &job.GPUError{GPU: 2, Xid: 31, What: job.Text("a bad address")}}, 1, "failed: exit code 1; GPU 2 reported Xid 31 (a bad address)"},
		{job.Result{Outcome: job.Failed, Signal: 6, GPUError: &job.GPUError{Xid: 999}}, 134, "killed by signal 6 (ABRT); GPU 0 reported Xid 999"},
		{job.Result{Outcome: job.Failed, Cause: job.StopGPULost, GPUError: &job.GPUError{GPU: 2, Xid: 79, What: job.Text("it is gone")}}, 143, "stopped because GPU 2 was lost (Xid 79 (it is gone))"},
		{job.Result{Outcome: job.Failed, Cause: job.StopGPULost, GPUError: &job.GPUError{GPU: 2}}, 143, "stopped because GPU 2 was lost"},
		{job.Result{Outcome: job.Failed, Cause: job.StopGPULost}, 143, "stopped because one of its GPUs was lost"},
		{job.Result{Outcome: job.Failed, ExitCode: 1, GPUError: &job.GPUError{GPU: 2, What: job.Text("gone")}}, 1, "failed: exit code 1; GPU 2 was lost (gone)"},
		{job.Result{Outcome: job.Completed, GPUError: &job.GPUError{GPU: 2, Xid: 31}}, 0, "completed: exit code 0"},
		{job.Result{Outcome: job.Failed, Launch: contract.StepUnit, Detail: job.Text("unit exists")}, 125, "could not start: systemd refused its unit (unit exists)"},
	} {
		covered[c.result.Outcome] = true
		if got := Result(&c.result); got != c.sentence {
			t.Errorf("%+v\n got %q\nwant %q", c.result, got, c.sentence)
		}
		if got := c.result.Code(); got != c.code {
			t.Errorf("%+v: code %d, want %d", c.result, got, c.code)
		}
		if !job.Printable(Result(&c.result)) {
			t.Errorf("%q is not printable", Result(&c.result))
		}
	}
	for _, s := range job.States() {
		if s.Terminal() && !covered[s] {
			t.Errorf("no case for the outcome %s", s)
		}
	}
}

func TestReason(t *testing.T) {
	const gib = 1 << 30
	covered := map[job.ReasonCode]bool{}
	for _, c := range []struct {
		reason job.Reason
		want   string
	}{
		{job.Reason{Code: job.ReasonGPUBusy, GPU: 0, Job: 7, Others: []job.ID{8, 12}, Have: 5}, "held by jobs 7, 8, 12 and 2 more"},
		{job.Reason{Code: job.ReasonGPUBusy, Job: 7, Others: []job.ID{8, 12}, Have: 3}, "held by jobs 7, 8 and 12"},
		{job.Reason{Code: job.ReasonGPUBusy, Job: 7}, "held by job 7"},
		{job.Reason{Code: job.ReasonGPUMPS, Job: 7, Others: []job.ID{8}, Have: 2}, "shared with MPS by jobs 7 and 8, and by no other jobs"},
		{job.Reason{Code: job.ReasonGPUMemory, Need: 20 * gib, Have: 3 * gib / 2}, "1.5G of its memory is actually free, 20G needed"},
		{job.Reason{Code: job.ReasonGPUPaused}, "paused by an administrator"},
		{job.Reason{Code: job.ReasonGPUPaused, Detail: job.Text("fan")}, "paused by an administrator (fan)"},
		{job.Reason{Code: job.ReasonGPUUnknown}, "its state is unknown: the driver does not answer"},
		{job.Reason{Code: job.ReasonGPULost, Detail: job.Text("XID 79")}, "the driver reports it as lost or broken (XID 79)"},
		{job.Reason{Code: job.ReasonGPUSick, Detail: job.Text("Xid 48, it needs a reset")}, "out of service (Xid 48, it needs a reset)"},
		{job.Reason{Code: job.ReasonGPUCleaning, Job: 7}, "being checked after job 7"},
		{job.Reason{Code: job.ReasonGPUCleaning}, "being checked after an earlier job"},
		{job.Reason{Code: job.ReasonGPUCleaning, Detail: job.Say("detail/proving")}, "being checked (it is tested with CUDA before its next job)"},
		{job.Reason{Code: job.ReasonGPUSuspect, Detail: job.Say("detail/failing", 3, time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))},
			"the last 3 jobs on it failed within seconds, while others did well on other GPUs; it is tried again at 2026-01-01 12:00:00 UTC"},
		{job.Reason{Code: job.ReasonGPUSuspect, Job: 7, Detail: job.Text("process 12")}, "something of job 7 is still on it (process 12)"},
		{job.Reason{Code: job.ReasonGPUExcluded}, "not among the GPUs the job may use"},
		{job.Reason{Code: job.ReasonGPUNoParts}, "given as a whole only"},
		{job.Reason{Code: job.ReasonGPUType, Detail: job.Text("Tesla T4")}, "another model (Tesla T4)"},
		{job.Reason{Code: job.ReasonGPUFree}, "free"},
		{job.Reason{Code: job.ReasonGPUShare, Need: 500, Have: 250}, "0.25 of it is free, 0.5 needed"},
		{job.Reason{Code: job.ReasonGPUDrained, Detail: job.Text("new fan")}, "drained by an administrator (new fan)"},
		{job.Reason{Code: job.ReasonGPULoad, Need: 80, Have: 97}, "busy to 97 %, at most 80 % allowed"},
		{job.Reason{Code: job.ReasonGPUUsed, Need: 80, Have: 90}, "90 % of its memory is in use, at most 80 % allowed"},
		{job.Reason{Code: job.ReasonGPUForeign, Foreign: []job.Foreign{{PID: 289, User: "bob", Bytes: 39 * gib}}}, "in use outside gpusched: bob's process 289 has 39G"},
		{job.Reason{Code: job.ReasonGPUForeign, Foreign: []job.Foreign{{PID: 1, Bytes: -1}, {PID: 2, UID: -1}}}, "in use outside gpusched: process 1 of uid 0 has some, process 2 has 0B"},
		{job.Reason{Code: job.ReasonGPUForeign, Have: 12 * gib}, "in use outside gpusched: 12G in use by processes that the driver does not list"},
		{job.Reason{Code: job.ReasonGPUForeign, Have: 12 * gib, Foreign: []job.Foreign{{PID: 289, User: "bob", Bytes: 39 * gib}}}, "in use outside gpusched: bob's process 289 has 39G, 12G in use by processes that the driver does not list"},
		{job.Reason{Code: job.ReasonGPUBusy, Job: 12, Names: []string{"7_3"}}, "held by job 7_3"},
		{job.Reason{Code: job.ReasonGPUBusy, Job: 12, Others: []job.ID{5, 13}, Have: 5, Names: []string{"7_3", "5", "7_4"}}, "held by jobs 7_3, 5, 7_4 and 2 more"},
		{job.Reason{Code: job.ReasonGPUKept, Job: 12, Names: []string{"7_3"}}, "kept for job 7_3, which is ahead of this one"},
		{job.Reason{Code: job.ReasonDependency, Job: 12, Names: []string{"7_3"}, Detail: job.Text("has ended")}, "waits until job 7_3 has ended"},
		{job.Reason{Code: job.ReasonGPUForeign}, "in use outside gpusched: the driver does not say by whom"},
		{job.Reason{Code: job.ReasonGPUKept, Job: 3}, "kept for job 3, which is ahead of this one"},
		{job.Reason{Code: job.ReasonGPUReserved, Detail: job.Text("for bob")}, "reserved (for bob)"},
		{job.Reason{Code: job.ReasonShutdown, Detail: (&job.Shutdown{At: time.Date(2026, 11, 1, 22, 0, 0, 0, time.UTC), How: "reboot"}).Say()}, "may still run when the machine reboots at 2026-11-01 22:00:00 UTC (scheduled with 'shutdown')"},
		{job.Reason{Code: job.ReasonShutdown, Detail: (&job.Shutdown{At: time.Date(2026, 11, 1, 22, 0, 0, 0, time.UTC), How: "reboot", By: "root", Reason: "kernel"}).Say()}, "may still run when the machine reboots at 2026-11-01 22:00:00 UTC at the latest (drained by root: kernel)"},
		{job.Reason{Code: job.ReasonShutdown, Detail: (&job.Shutdown{At: time.Date(2026, 11, 1, 22, 0, 0, 0, time.UTC), How: "poweroff"}).Say()}, "may still run when the machine is switched off at 2026-11-01 22:00:00 UTC (scheduled with 'shutdown')"},
		{job.Reason{Code: job.ReasonDrained, Detail: (&job.GPUControl{UUID: job.EveryGPU, By: "root", Reason: "new disks"}).Say()}, "no new job starts: drained by root (new disks)"},
		{job.Reason{Code: job.ReasonHeld, GPU: job.NoGPU, Detail: job.Text("alice")}, "held by alice"},
		{job.Reason{Code: job.ReasonGone, GPU: job.NoGPU, Detail: job.Say("detail/heir", "kate", 2010, "liam")}, "account kate is gone: uid 2010 is liam's now"},
		{job.Reason{Code: job.ReasonTurn, GPU: job.NoGPU}, "waits to be started: systemd is starting other jobs"},
		{job.Reason{Code: job.ReasonDependency, GPU: job.NoGPU, Job: 4, Detail: job.Text("has ended")}, "waits until job 4 has ended"},
		{job.Reason{Code: job.ReasonBegin, GPU: job.NoGPU, Detail: job.Text("22:00")}, "not to begin before 22:00"},
		{job.Reason{Code: job.ReasonBackoff, GPU: job.NoGPU, Detail: job.Text("22:00")}, "failed, and is tried again at 22:00"},
		{job.Reason{Code: job.ReasonArrayLimit, GPU: job.NoGPU, Need: 4}, "4 tasks of the array are running, as many as its limit allows"},
		{job.Reason{Code: job.ReasonFailures, GPU: job.NoGPU, Need: 2, Have: 3},
			"3 tasks of the array failed, its limit is 2: no more start until it is released"},
		{job.Reason{Code: job.ReasonFailures, GPU: job.NoGPU, Need: 1, Have: 1},
			"1 task of the array failed, its limit is 1: no more start until it is released"},
		{job.Reason{Code: job.ReasonArrayLimit, GPU: job.NoGPU, Need: 1}, "1 task of the array is running, as many as its limit allows"},
		{job.Reason{Code: job.ReasonLane, GPU: job.NoGPU, Need: 1, Have: 1, Job: 4, Detail: job.Text("sweep")},
			"its limit for lane sweep is 1 job at once, and job 4 is in it"},
		{job.Reason{Code: job.ReasonSiteLane, GPU: job.NoGPU, Need: 2, Have: 2, Job: 4, Others: []job.ID{5}, Detail: job.Text("matlab")},
			"the site's limit for lane matlab is 2 jobs at once, and jobs 4 and 5 are in it"},
		{job.Reason{Code: job.ReasonLaneKept, GPU: job.NoGPU, Job: 5}, "job 5 is ahead and needs the next place in their lane"},
		{job.Reason{Code: job.ReasonQuotaGPUs, GPU: job.NoGPU, Detail: job.Say("detail/quota-left", job.Text("alice"), "0.5", "4"), Have: 500, Need: 1000},
			"quota: needs 1 GPU, alice has 0.5 of 4 left"},
		{job.Reason{Code: job.ReasonQuotaKept, GPU: job.NoGPU, Detail: job.Text("bob"), Job: 5}, "job 5 is ahead and needs the rest of bob's quota"},
		{job.Reason{Code: job.ReasonQuotaJobs, GPU: job.NoGPU, Detail: job.Text("group lab"), Need: 5}, "group lab has 5 jobs running, as many as the quota allows"},
		{job.Reason{Code: job.ReasonQuotaHours, GPU: job.NoGPU, Detail: job.Text("alice"), Have: 99, Need: 90}, "alice has used 99 GPU-hours lately, the quota is 90"},
		{job.Reason{Code: job.ReasonAccount, GPU: job.NoGPU, Detail: job.Text("the account of alice has expired")}, "no job of its user starts: the account of alice has expired"},
		{job.Reason{Code: job.ReasonStarts, GPU: job.NoGPU, Detail: job.Say("detail/starts-failed", 3, job.Text("systemd: no"), time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))},
			"no job starts: the last 3 starts failed (most recently: systemd: no); one job is tried again at 2026-01-01 12:00:00 UTC"},
		{job.Reason{Code: job.ReasonGPUCount, GPU: job.NoGPU, Need: 4, Have: 1}, "needs 4 GPUs, 1 available now"},
		{job.Reason{Code: job.ReasonGPUCount, GPU: job.NoGPU, Need: 1}, "needs 1 GPU, 0 available now"},
		{job.Reason{Code: job.ReasonHostMemory, GPU: job.NoGPU, Need: 64 * gib, Have: 0}, "needs 64G of host memory, 0B is free"},
		{job.Reason{Code: job.ReasonQuotaMem, GPU: job.NoGPU, Detail: job.Say("detail/quota-left", job.Text("alice"), job.Size(5*gib), job.Size(18*gib)), Have: 5 * gib, Need: 9 * gib},
			"quota: needs 9G of host memory, alice has 5G of 18G left"},
		{job.Reason{Code: job.ReasonTooMuch, GPU: job.NoGPU, Detail: job.Say("never/gpu-count", job.GPURequest{GPUs: 4000}, 3)},
			"at present it can never start: asks for 4 GPUs, this machine has 3 (see 'gpusched gpus')"},
		{job.Reason{Code: job.ReasonQuotaCPUs, GPU: job.NoGPU, Detail: job.Say("detail/quota-left", job.Say("detail/group", "lab"), int64(1), int64(12)), Have: 1, Need: 2},
			"quota: needs 2 CPUs, group lab has 1 of 12 left"},
		{job.Reason{Code: job.ReasonHostCPUs, GPU: job.NoGPU, Need: 8, Have: 1, Detail: job.Say("detail/has-most", "bob", job.CPUs(12))}, "needs 8 CPUs, 1 is free (bob's jobs hold 12 CPUs)"},
		{job.Reason{Code: job.ReasonHostCPUs, GPU: job.NoGPU, Need: 1}, "needs 1 CPU, 0 are free"},
		{job.Reason{Code: job.ReasonNoGPUCPUs, GPU: job.NoGPU, Need: 8, Have: 3}, "needs 8 CPUs, 3 are left of what jobs without a GPU may have"},
		{job.Reason{Code: job.ReasonMaxRunning, GPU: job.NoGPU, Need: 8}, "8 jobs are running, the site allows no more at once"},
		{job.Reason{Code: job.ReasonMaxRunning, GPU: job.NoGPU, Need: 8, Detail: job.Text("bob has 7")}, "8 jobs are running, the site allows no more at once (bob has 7)"},
		{job.Reason{Code: job.ReasonMaxRunning, GPU: job.NoGPU, Need: 1}, "1 job is running, the site allows no more at once"},
		{job.Reason{Code: job.ReasonNoGPUJobs, GPU: job.NoGPU, Need: 10, Detail: job.Text("bob has 9")}, "jobs without a GPU take 10 places, all that they may have here (bob has 9)"},
		{job.Reason{Code: job.ReasonNoGPUMemory, GPU: job.NoGPU, Need: 8 * gib, Have: gib}, "needs 8G of host memory, 1G is left of what jobs without a GPU may have"},
		{job.Reason{Code: job.ReasonNoSample, GPU: job.NoGPU}, "the scheduler has just started and has not seen the GPUs yet"},
		{job.Reason{Code: job.ReasonChecking, GPU: job.NoGPU}, "checking once more that its GPUs are free before it starts"},
	} {
		covered[c.reason.Code] = true
		if got := Reason(c.reason); got != c.want {
			t.Errorf("%+v\n got %q\nwant %q", c.reason, got, c.want)
		}
	}
	for _, code := range ReasonCodes() {
		if !covered[code] {
			t.Errorf("no case for the reason %s", code)
		}
	}
}

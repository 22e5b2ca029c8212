package job

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/units/contract"
)

func TestResultSentenceAndCode(t *testing.T) {
	covered := map[State]bool{}
	for _, c := range []struct {
		result   Result
		code     int
		sentence string
	}{
		{Result{Outcome: Completed}, 0, "completed: exit code 0"},
		{Result{Outcome: Failed, ExitCode: 3}, 3, "failed: exit code 3"},
		{Result{Outcome: Failed, ExitCode: 255}, 255, "failed: exit code 255"},
		{Result{Outcome: Failed, Signal: 11}, 139, "killed by signal 11 (SEGV)"},
		{Result{Outcome: Failed, Signal: 34}, 162, "killed by signal 34 (RT34)"},
		{Result{Outcome: Cancelled, By: "alice"}, 143, "cancelled by alice"},
		{Result{Outcome: Cancelled}, 143, "cancelled"},
		{Result{Outcome: Cancelled, Signal: 9, By: "root"}, 137, "cancelled by root"},
		{Result{Outcome: Cancelled, ExitCode: 5}, 5, "cancelled"},
		{Result{Outcome: TimedOut, Limit: 2 * time.Hour}, 124, "stopped at its time limit of 2h (ask for more with --time)"},
		{Result{Outcome: TimedOut, Limit: 90 * time.Second, Signal: 9}, 124, "stopped at its time limit of 1m30s (ask for more with --time)"},
		{Result{Outcome: OutOfMemory, MemBytes: 20 << 30, Signal: 9}, 137, "killed for going over its host memory limit of 20G (ask for more with --mem)"},
		{Result{Outcome: OutOfMemory}, 137, "killed because the host ran out of memory"},
		{Result{Outcome: GPUOutOfMemory, For: 13, Breach: &Breach{GPU: 2, UsedBytes: 30 << 30, BudgetBytes: 20 << 30}}, 137, "stopped for using 30G of the memory of GPU 2, 10G more than the 20G it was promised, when job 13 was short of its own (ask for more with --gpu-mem)"},
		{Result{Outcome: GPUOutOfMemory, For: 13}, 137, "stopped for using GPU memory that job 13 was promised (ask for more with --gpu-mem)"},
		{Result{Outcome: Cancelled, Cause: StopIdle, Breach: &Breach{Idle: 40*time.Minute + 300*time.Millisecond}}, 143, "cancelled by the site: it had not used its GPUs for 40m"},
		{Result{Outcome: Cancelled, Cause: StopTrespass, Breach: &Breach{GPU: 3}}, 143, "cancelled by the site: it used GPU 3, which it does not have"},
		{Result{Outcome: Cancelled, Cause: StopTrespass}, 143, "cancelled by the site: it used a GPU that it does not have"},
		{Result{Outcome: Cancelled, Cause: StopIdle}, 143, "cancelled by the site: it did not use its GPUs"},
		{Result{Outcome: Lost, Detail: "the machine was restarted while the job ran"}, 125, "lost: the machine was restarted while the job ran"},
		{Result{Outcome: Failed, Launch: contract.StepSpec, ExitCode: 225}, 125, "could not start: its private instructions could not be made or read"},
		{Result{Outcome: Failed, Launch: contract.StepChdir, Errno: 13, ExitCode: 200}, 125, "could not start: its working directory could not be entered: permission denied"},
		{Result{Outcome: Failed, Launch: contract.StepExec, Errno: 2, ExitCode: 203}, 125, "could not start: its command could not be run: no such file or directory"},
		{Result{Outcome: Failed, Launch: contract.StepFilter, ExitCode: 226}, 125, "could not start: its GPUs could not be opened, or are not fenced off from others"},
		{Result{Outcome: Failed, Launch: contract.StepLimits, Errno: 1, Detail: "NOFILE"}, 125, "could not start: its resource limits could not be set: operation not permitted (NOFILE)"},
		{Result{Outcome: Failed, ExitCode: 1, GPUError: &GPUError{GPU: 2, Xid: 31, What: "a bad address"}}, 1, "failed: exit code 1; GPU 2 reported Xid 31 (a bad address)"},
		{Result{Outcome: Failed, Signal: 6, GPUError: &GPUError{Xid: 999}}, 134, "killed by signal 6 (ABRT); GPU 0 reported Xid 999"},
		{Result{Outcome: Failed, Cause: StopGPULost, GPUError: &GPUError{GPU: 2, Xid: 79, What: "it is gone"}}, 143, "stopped since GPU 2 was lost (Xid 79 (it is gone))"},
		{Result{Outcome: Failed, Cause: StopGPULost, GPUError: &GPUError{GPU: 2}}, 143, "stopped since GPU 2 was lost"},
		{Result{Outcome: Failed, Cause: StopGPULost}, 143, "stopped since one of its GPUs was lost"},
		{Result{Outcome: Failed, ExitCode: 1, GPUError: &GPUError{GPU: 2, What: "gone"}}, 1, "failed: exit code 1; GPU 2 was lost (gone)"},
		{Result{Outcome: Completed, GPUError: &GPUError{GPU: 2, Xid: 31}}, 0, "completed: exit code 0"},
		{Result{Outcome: Failed, Launch: contract.StepUnit, Detail: "unit exists"}, 125, "could not start: systemd refused its unit (unit exists)"},
	} {
		covered[c.result.Outcome] = true
		if got := c.result.Sentence(); got != c.sentence {
			t.Errorf("%+v\n got %q\nwant %q", c.result, got, c.sentence)
		}
		if got := c.result.Code(); got != c.code {
			t.Errorf("%+v: code %d, want %d", c.result, got, c.code)
		}
		if !Printable(c.result.Sentence()) {
			t.Errorf("%q is not printable", c.result.Sentence())
		}
	}
	for _, s := range States() {
		if s.Terminal() && !covered[s] {
			t.Errorf("no case for the outcome %s", s)
		}
	}
}

func TestReasonSentence(t *testing.T) {
	const gib = 1 << 30
	covered := map[ReasonCode]bool{}
	for _, c := range []struct {
		reason Reason
		want   string
	}{
		{Reason{Code: ReasonGPUBusy, GPU: 0, Job: 7, Others: []ID{8, 12}, Have: 5}, "held by jobs 7, 8, 12 and 2 more"},
		{Reason{Code: ReasonGPUBusy, Job: 7, Others: []ID{8, 12}, Have: 3}, "held by jobs 7, 8 and 12"},
		{Reason{Code: ReasonGPUBusy, Job: 7}, "held by job 7"},
		{Reason{Code: ReasonGPUMemory, Need: 20 * gib, Have: 3 * gib / 2}, "1.5G of its memory is really free, 20G needed"},
		{Reason{Code: ReasonGPUPaused}, "paused by an administrator"},
		{Reason{Code: ReasonGPUPaused, Detail: "fan"}, "paused by an administrator (fan)"},
		{Reason{Code: ReasonGPUUnknown}, "its state is unknown: the driver does not answer"},
		{Reason{Code: ReasonGPULost, Detail: "XID 79"}, "the driver reports it as lost or broken (XID 79)"},
		{Reason{Code: ReasonGPUSick, Detail: "Xid 48, it needs a reset"}, "out of service (Xid 48, it needs a reset)"},
		{Reason{Code: ReasonGPUCleaning, Job: 7}, "being checked after job 7"},
		{Reason{Code: ReasonGPUCleaning}, "being checked after an earlier job"},
		{Reason{Code: ReasonGPUSuspect, Job: 7, Detail: "process 12"}, "something of job 7 is still on it (process 12)"},
		{Reason{Code: ReasonGPUExcluded}, "not among the GPUs the job may use"},
		{Reason{Code: ReasonGPUType, Detail: "Tesla T4"}, "another model (Tesla T4)"},
		{Reason{Code: ReasonGPUFree}, "free"},
		{Reason{Code: ReasonGPUShare, Need: 500, Have: 250}, "0.25 of it is free, 0.5 needed"},
		{Reason{Code: ReasonGPUDrained, Detail: "new fan"}, "drained by an administrator (new fan)"},
		{Reason{Code: ReasonGPULoad, Need: 80, Have: 97}, "busy to 97 %, at most 80 % allowed"},
		{Reason{Code: ReasonGPUUsed, Need: 80, Have: 90}, "90 % of its memory is in use, at most 80 % allowed"},
		{Reason{Code: ReasonGPUForeign, Foreign: []Foreign{{PID: 289, User: "bob", Bytes: 39 * gib}}}, "used outside of any job: process 289 of bob has 39G"},
		{Reason{Code: ReasonGPUForeign, Foreign: []Foreign{{PID: 1, Bytes: -1}, {PID: 2, UID: -1}}}, "used outside of any job: process 1 of uid 0 has some, process 2 has 0B"},
		{Reason{Code: ReasonGPUForeign, Have: 12 * gib}, "used outside of any job: 12G in use by processes that the driver does not list"},
		{Reason{Code: ReasonGPUForeign, Have: 12 * gib, Foreign: []Foreign{{PID: 289, User: "bob", Bytes: 39 * gib}}}, "used outside of any job: process 289 of bob has 39G, 12G in use by processes that the driver does not list"},
		{Reason{Code: ReasonGPUBusy, Job: 12, Names: []string{"7_3"}}, "held by job 7_3"},
		{Reason{Code: ReasonGPUBusy, Job: 12, Others: []ID{5, 13}, Have: 5, Names: []string{"7_3", "5", "7_4"}}, "held by jobs 7_3, 5, 7_4 and 2 more"},
		{Reason{Code: ReasonGPUKept, Job: 12, Names: []string{"7_3"}}, "kept for job 7_3, which is before this one"},
		{Reason{Code: ReasonDependency, Job: 12, Names: []string{"7_3"}, Detail: "has ended"}, "waits until job 7_3 has ended"},
		{Reason{Code: ReasonGPUForeign}, "used outside of any job: the driver does not say by whom"},
		{Reason{Code: ReasonGPUKept, Job: 3}, "kept for job 3, which is before this one"},
		{Reason{Code: ReasonGPUReserved, Detail: "for bob"}, "reserved (for bob)"},
		{Reason{Code: ReasonHeld, GPU: NoGPU, Detail: "alice"}, "held by alice"},
		{Reason{Code: ReasonDependency, GPU: NoGPU, Job: 4, Detail: "has ended"}, "waits until job 4 has ended"},
		{Reason{Code: ReasonBegin, GPU: NoGPU, Detail: "22:00"}, "not to begin before 22:00"},
		{Reason{Code: ReasonBackoff, GPU: NoGPU, Detail: "22:00"}, "failed, and tries again at 22:00"},
		{Reason{Code: ReasonArrayLimit, GPU: NoGPU, Need: 4}, "4 tasks of the array are running, its limit"},
		{Reason{Code: ReasonArrayLimit, GPU: NoGPU, Need: 1}, "1 task of the array is running, its limit"},
		{Reason{Code: ReasonQuotaGPUs, GPU: NoGPU, Detail: "alice", Have: 3500, Need: 4000}, "alice has 3.5 of 4 GPUs, the quota"},
		{Reason{Code: ReasonQuotaJobs, GPU: NoGPU, Detail: "group lab", Need: 5}, "group lab has 5 jobs running, the quota"},
		{Reason{Code: ReasonQuotaHours, GPU: NoGPU, Detail: "alice", Have: 99, Need: 90}, "alice has used 99 GPU-hours lately, the quota is 90"},
		{Reason{Code: ReasonAccount, GPU: NoGPU, Detail: "the account of alice has expired"}, "its user may start nothing: the account of alice has expired"},
		{Reason{Code: ReasonGPUCount, GPU: NoGPU, Need: 4, Have: 1}, "needs 4 GPUs, 1 available now"},
		{Reason{Code: ReasonHostMemory, GPU: NoGPU, Need: 64 * gib, Have: 0}, "needs 64G of host memory, 0B is not promised to running jobs"},
		{Reason{Code: ReasonMaxRunning, GPU: NoGPU, Need: 8}, "8 jobs are running, the site allows no more at once"},
		{Reason{Code: ReasonMaxRunning, GPU: NoGPU, Need: 8, Detail: "bob has 7"}, "8 jobs are running, the site allows no more at once (bob has 7)"},
		{Reason{Code: ReasonMaxRunning, GPU: NoGPU, Need: 1}, "1 job is running, the site allows no more at once"},
		{Reason{Code: ReasonNoGPUJobs, GPU: NoGPU, Need: 10, Detail: "bob has 9"}, "jobs without a GPU have all places that they may have here, 10 (bob has 9)"},
		{Reason{Code: ReasonNoGPUMemory, GPU: NoGPU, Need: 8 * gib, Have: gib}, "needs 8G of host memory, 1G is left of what jobs without a GPU may have"},
		{Reason{Code: ReasonNoSample, GPU: NoGPU}, "the scheduler has just started and has not seen the GPUs yet"},
		{Reason{Code: ReasonChecking, GPU: NoGPU}, "its GPUs look free, which a fresh sample is confirming"},
	} {
		covered[c.reason.Code] = true
		if got := c.reason.Sentence(); got != c.want {
			t.Errorf("%+v\n got %q\nwant %q", c.reason, got, c.want)
		}
	}
	for _, code := range ReasonCodes() {
		if !covered[code] {
			t.Errorf("no case for the reason %s", code)
		}
	}
}

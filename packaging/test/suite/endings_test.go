//go:build machine

package suite

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// saves returns a command for a job. When it gets the signal, it prints "saving", waits until ~/go
// exists, and exits with the given status. Its second attempt exits at once.
func saves(signal string, code int) string {
	return fmt.Sprintf(`bash -c 'trap "echo saving; until [ -e ~/go ]; do sleep 0.05; done; exit %d" %s; echo armed; `+
		`[ $GPUSCHED_ATTEMPT = 1 ] || exit 0; while :; do sleep 0.05; done'`, code, signal)
}

// submitAndStop submits a job that runs the command of saves, and stops the job with the given
// gpusched command, such as cancel. If the command is "", the job's time limit stops the job.
// submitAndStop returns when the job has received the stop signal.
func submitAndStop(t *testing.T, options, ask string) int64 {
	t.Helper()
	id := submit(t, "alice", "-g 0 --grace 10m "+options+" -- "+saves("TERM", 1))
	waitText(t, id, "armed")
	if ask != "" {
		waitRun(t, id)
		sh(t, "alice", fmt.Sprintf("gpusched %s %d", ask, id))
	}
	waitText(t, id, "saving")
	return id
}

// TestStopWhileNobodyLooks: a requeue, a cancel or its time limit stops a job, and the job exits
// with a status of its own choice. It ends as the stop demands, even if the daemon or the bus is
// down at that moment.
func TestStopWhileNobodyLooks(t *testing.T) {
	begin(t)
	for name, away := range map[string][2]string{
		"scheduler": {"systemctl stop gpusched.socket gpusched.service", "systemctl start gpusched.socket gpusched.service"},
		"bus":       {"systemctl stop dbus.socket dbus.service", "systemctl start dbus.socket dbus.service"},
	} {
		sh(t, "alice", "rm -f ~/go")
		requeued, cancelled := submitAndStop(t, "", "requeue"), submitAndStop(t, "", "cancel")
		timed := submitAndStop(t, fmt.Sprintf("-t %s --on-timeout requeue", 2*time.Second*the.slow), "")
		sh(t, "", away[0])
		t.Cleanup(func() { try(t, "", away[1]) })
		sh(t, "alice", "touch ~/go")
		for _, id := range []int64{requeued, cancelled, timed} {
			unitEnded(t, id)
		}
		sh(t, "", away[1])
		mustEnd(t, wait(t, cancelled), job.Cancelled, "cancelled by alice")
		for _, id := range []int64{requeued, timed} {
			if j := wait(t, id); j.State != job.Completed || j.Attempt != 2 {
				t.Errorf("without the %s: job %d is %s in attempt %d: %+v", name, id, j.State, j.Attempt, j.Result)
			}
		}
	}
}

// TestStoppedFromOutside: an administrator stops a job with systemctl. The job is reported as
// stopped from outside, not as timed out or ended by itself. Neither the way in which the job
// handles the signal nor a stop of the daemon changes this.
func TestStoppedFromOutside(t *testing.T) {
	begin(t)
	const sentence = "from outside gpusched"
	sh(t, "alice", "rm -f ~/go; touch ~/go")
	deaf := submit(t, "alice", "-g 0 -t 1h --grace 1s -- bash -c 'trap \"\" TERM; echo armed; while :; do sleep 0.1; done'")
	exits := submit(t, "alice", "-g 0 -t 1h -- "+saves("TERM", 3))
	again := submit(t, "alice", "-g 0 --retries 1 --backoff 1s -- "+saves("TERM", 3))
	for _, id := range []int64{deaf, exits, again} {
		waitText(t, id, "armed")
		sh(t, "", fmt.Sprintf("systemctl stop --no-block gpujob-%d", id))
	}
	mustEnd(t, wait(t, deaf), job.Lost, sentence)
	mustEnd(t, wait(t, exits), job.Lost, sentence)
	if j := wait(t, again); j.State != job.Completed || j.Attempt != 2 {
		t.Errorf("with a retry: job %d is %s in attempt %d: %+v", again, j.State, j.Attempt, j.Result)
	}

	// While the daemon is stopped, an administrator stops a job with systemctl, and that job's time
	// limit passes too. Another job fails, and its failed unit is reset.
	sh(t, "alice", "rm -f ~/fail")
	reset := submit(t, "alice", "-g 0 -- bash -c 'echo armed; until [ -e ~/fail ]; do sleep 0.05; done; exit 5'")
	waitText(t, reset, "armed")
	limit := 8 * time.Second * the.slow
	gone := submit(t, "alice", fmt.Sprintf("-g 0 -t %s -- bash -c 'echo armed; sleep 1000'", limit))
	waitText(t, gone, "armed")
	began := show(t, "", gone).StartedAt
	sh(t, "", fmt.Sprintf("systemctl stop gpusched.socket gpusched.service; systemctl stop gpujob-%d", gone))
	if time.Until(began.Add(limit)) <= 0 {
		t.Errorf("its limit of %s passed before the scheduler was stopped", limit)
	}
	sh(t, "alice", "touch ~/fail")
	unitEnded(t, reset)
	sh(t, "", fmt.Sprintf("systemctl reset-failed gpujob-%d", reset))
	<-time.After(time.Until(began.Add(limit)))
	sh(t, "", "systemctl start gpusched.socket gpusched.service")
	for _, id := range []int64{gone, reset} {
		mustEnd(t, wait(t, id), job.Lost, "how it ended is not known")
	}
}

// TestLeavesWhenWarned: a job with --on-timeout requeue exits when it is warned of its time limit.
// The job is queued again, although its exit status is not 0.
func TestLeavesWhenWarned(t *testing.T) {
	begin(t)
	sh(t, "alice", "touch ~/go")
	times := fmt.Sprintf("-g 0 --on-timeout requeue -t %s --signal USR1@%s -- ", time.Hour, time.Hour-5*time.Second*the.slow)
	again, done := submit(t, "alice", times+saves("USR1", 3)), submit(t, "alice", times+saves("USR1", 0))
	if j := wait(t, again); j.State != job.Completed || j.Attempt != 2 || j.Requeues != 1 {
		t.Errorf("job %d is %s in attempt %d, requeued %d times: %+v", again, j.State, j.Attempt, j.Requeues, j.Result)
	}
	if j := wait(t, done); j.State != job.Completed || j.Attempt != 1 {
		t.Errorf("job %d is %s in attempt %d: %+v", done, j.State, j.Attempt, j.Result)
	}
	if out := sh(t, "alice", fmt.Sprintf("gpusched show %d", again)); !strings.Contains(out, "exited after the warning before its time limit of 1h") {
		t.Errorf("show does not say why the job was requeued:\n%s", out)
	}
}

// TestWarningOutlastsItsNotice: a preempted job should get its warning signal some time before it
// is stopped. All of that time passes while the bus is down. When the bus is back, the job is still
// warned before it is stopped.
func TestWarningOutlastsItsNotice(t *testing.T) {
	begin(t)
	settings(t, "[scheduling]\nslice = \"3s\"")
	gpusSeen(t)
	sh(t, "alice", "touch ~/go")
	warned := submit(t, "alice", "-p scavenger -g 4 --signal USR1@1s -- "+saves("USR1", 3))
	waitText(t, warned, "armed")
	const back = "systemctl start dbus.socket dbus.service"
	t.Cleanup(func() { try(t, "", back) })
	sh(t, "", "systemctl stop dbus.socket dbus.service")
	submit(t, "bob", "-g 4 -- sleep 1000")
	poll(t, "twice the notice has passed", func() bool {
		line := fmt.Sprintf("journalctl -q -u gpusched | grep 'signalling a job' | grep -c job=%d", warned)
		n, _ := strconv.Atoi(strings.TrimSpace(try(t, "", line).Stdout))
		return n > 3 // the daemon logs the failure once a second
	})
	sh(t, "", back)
	waitText(t, warned, "saving")
}

// TestSignalOfAnArray: a signal to an array reaches only its running tasks.
func TestSignalOfAnArray(t *testing.T) {
	begin(t)
	sh(t, "alice", "touch ~/go")
	array := submit(t, "alice", "-g 0 --array 0-1%1 -- "+saves("USR1", 3))
	armed := func(task int) {
		t.Helper()
		poll(t, "the task has set its trap", func() bool {
			return strings.Contains(try(t, "alice", fmt.Sprintf("gpusched logs %d_%d", array, task)).Stdout, "armed")
		})
	}
	armed(0)
	if out := sh(t, "alice", fmt.Sprintf("gpusched cancel --signal USR1 %d", array)); !strings.Contains(out, "running tasks") {
		t.Errorf("the answer to the signal is: %s", out)
	}
	armed(1) // the signal did not reach this task
	sh(t, "alice", fmt.Sprintf("gpusched cancel --signal USR1 %d_1", array))
	if j := wait(t, array); j.Array.Failed != 2 {
		t.Errorf("the array ended as %+v, %+v", j.Result, j.Array)
	}
	held := submit(t, "alice", "-g 0 --hold --array 0-1 -- true")
	mustFail(t, "alice", fmt.Sprintf("gpusched cancel --signal USR1 %d", held), 1, "no task of job")
}

// TestSignalsWithoutABus: a warning becomes due while the bus is down, and arrives when the bus is
// back. If a user sends a signal meanwhile, gpusched says that it was not sent.
func TestSignalsWithoutABus(t *testing.T) {
	begin(t)
	sh(t, "alice", "touch ~/go")
	warned := submit(t, "alice", fmt.Sprintf("-g 0 -t %s --signal USR1@%s -- ", time.Hour, time.Hour-10*time.Second*the.slow)+saves("USR1", 3))
	other := submit(t, "alice", "-g 0 -- "+saves("USR1", 4))
	waitText(t, warned, "armed")
	waitText(t, other, "armed")
	back := "systemctl start dbus.socket dbus.service"
	t.Cleanup(func() { try(t, "", back) })
	sh(t, "", "systemctl stop dbus.socket dbus.service")
	mustFail(t, "alice", fmt.Sprintf("gpusched cancel --signal USR1 %d", other), 1, "systemd gave no answer")
	poll(t, "a warning has failed", func() bool {
		return try(t, "", fmt.Sprintf("journalctl -q -u gpusched | grep 'signalling a job' | grep job=%d", warned)).Code == 0
	})
	sh(t, "", back)
	mustEnd(t, wait(t, warned), job.Failed, "exit code 3")
	poll(t, "the signal is sent", func() bool {
		return try(t, "alice", fmt.Sprintf("gpusched cancel --signal USR1 %d", other)).Code == 0
	})
	mustEnd(t, wait(t, other), job.Failed, "exit code 4")
}

// TestOwnProcessAfterTheEnd: a user's job on a GPU ends, and then the user starts a process on the
// same GPU. This process is not a stray of the job, even if the daemon notices only afterwards that
// the job has ended.
func TestOwnProcessAfterTheEnd(t *testing.T) {
	begin(t)
	settings(t, quickSampling)
	gpusSeen(t)
	sh(t, "alice", "rm -f ~/go")
	id := submit(t, "alice", "-g 1 --gpu-ids 0 -- bash -c 'echo armed; until [ -e ~/go ]; do sleep 0.05; done'")
	waitText(t, id, "armed")
	const start = "systemctl start gpusched.socket gpusched.service"
	sh(t, "", "systemctl stop gpusched.socket gpusched.service")
	t.Cleanup(func() { try(t, "", "systemctl stop own; "+start) })
	sh(t, "alice", "touch ~/go")
	poll(t, "the job's command has ended", func() bool {
		return strings.TrimSpace(sh(t, "", fmt.Sprintf("systemctl show -P SubState gpujob-%d", id))) == "exited"
	})
	sh(t, "", "systemd-run --quiet --uid alice --unit own simcuda --mem 2G --hold 1000")
	poll(t, "it is on the GPU", func() bool { return sh(t, "", "ls /run/fakenvml/claims") != "" })
	sh(t, "", start)
	mustEnd(t, wait(t, id), job.Completed, "exit code 0")
	poll(t, "the process belongs to no job", func() bool {
		list := processesOn(t, 0)
		return len(list) == 1 && list[0].Job == 0
	})
	if j := show(t, "alice", id); j.Result.Sentence != "completed: exit code 0" {
		t.Errorf("the job's result is %q", j.Result.Sentence)
	}
	sh(t, "", "systemctl is-active own")
}

// TestAimedSignals: a signal to the main process reaches the job's command, however the launcher
// starts the command. The signal does not reach the command's worker, which would die of it. A
// restarted daemon can send such a signal too.
func TestAimedSignals(t *testing.T) {
	begin(t)
	const command = ` -- bash -c 'trap "sleep 0.5; pgrep -P $$ -x sleep >/dev/null && echo worker lives; echo saved; exit 3" USR1 TERM
		sleep 1h & echo armed; while :; do wait; done'`
	warn := fmt.Sprintf(" -t %s --signal main:USR1@%s", time.Hour, time.Hour-4*time.Second*the.slow)
	for _, c := range []struct {
		options, ask string
		aimed        bool
		state        job.State
	}{
		{"", "cancel --signal USR1", false, job.Failed},
		{"", "cancel --signal main:USR1", true, job.Failed},
		{"--setup true --env login --log aimed.txt", "cancel --signal main:USR1", true, job.Failed},
		{warn, "", true, job.Failed},
		{warn + " --screen", "", true, job.Failed},
		{"--grace 10m", "cancel", false, job.Cancelled},
		{"--grace 10m --signal-to main", "cancel", true, job.Cancelled},
		{"--grace 10m --signal-to main --setup true", "cancel", true, job.Cancelled},
		{"--grace 10m --signal-to main --screen", "cancel", true, job.Cancelled},
	} {
		id := submit(t, "alice", "-g 0 "+c.options+command)
		waitText(t, id, "armed")
		sh(t, "", "systemctl restart gpusched")
		if c.ask != "" {
			sh(t, "alice", fmt.Sprintf("gpusched %s %d", c.ask, id))
		}
		if out := waitText(t, id, "saved"); strings.Contains(out, "worker lives") != c.aimed {
			t.Errorf("%s, %s: it printed %q", c.options, c.ask, out)
		}
		if j := wait(t, id); j.State != c.state {
			t.Errorf("%s, %s: it ended as %s: %s", c.options, c.ask, j.State, j.Result.Sentence)
		}
	}
	held := submit(t, "alice", "-g 0 --screen"+command)
	waitText(t, held, "armed")
	mustFail(t, "alice", fmt.Sprintf("gpusched cancel --signal main:USR1 %d", held), 1, "has a terminal")
	sh(t, "alice", fmt.Sprintf("gpusched cancel %d", held))
	wait(t, held)
}

// TestLeftRunning: processes that a job's command leaves running are killed, and the sentence about
// the job's end says how many they were. It counts neither processes that exit with the command nor
// processes of the daemon.
func TestLeftRunning(t *testing.T) {
	begin(t)
	sh(t, "alice", `printf 'sleep 1h &\nsleep 1h &\necho begun\n' >leaves.sh; printf 'exec > >(cat)\necho begun\n' >pipes.sh`)
	for _, c := range []struct{ options, sentence string }{
		{"-- bash leaves.sh", "exit code 0; 2 processes that it left running were ended"},
		{"--log left.txt -- bash -c 'sleep 1h & exit 0'", "exit code 0; 1 process that it left running was ended"},
		{"--log left.txt -- bash pipes.sh", "exit code 0"},
		{"--screen -- bash pipes.sh", "exit code 0"},
		{"-- bash -c 'sleep 1h & exec true'", "exit code 0; 1 process that it left running was ended"},
	} {
		id := submit(t, "alice", "-g 0 "+c.options)
		if j := wait(t, id); !strings.HasSuffix(j.Result.Sentence, c.sentence) {
			t.Errorf("%s: it ended as: %s", c.options, j.Result.Sentence)
		}
		poll(t, "the daemon's journal says so", func() bool {
			return strings.Contains(sh(t, "", fmt.Sprintf("journalctl -q -u gpusched | grep 'job=%d '", id)), c.sentence)
		})
	}
}

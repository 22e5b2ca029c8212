//go:build machine

package suite

import (
	"fmt"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// saves is a command that says when a signal has reached it, and exits with a status of its
// own once ~/go is there. Its second attempt ends at once.
func saves(signal string, code int) string {
	return fmt.Sprintf(`bash -c 'trap "echo saving; until [ -e ~/go ]; do sleep 0.05; done; exit %d" %s; echo armed; `+
		`[ $GPUSCHED_ATTEMPT = 1 ] || exit 0; while :; do sleep 0.05; done'`, code, signal)
}

// told submits a command that saves, and asks something of it that stops it. It returns when
// the stop has reached the command.
func told(t *testing.T, options, ask string) int64 {
	t.Helper()
	id := submit(t, "alice", "-g 0 --grace 10m "+options+" -- "+saves("TERM", 1))
	printed(t, id, "armed")
	if ask != "" {
		sh(t, "alice", fmt.Sprintf("gpusched %s %d", ask, id))
	}
	printed(t, id, "saving")
	return id
}

// TestAnswersWhileNobodyLooks: what answers a stop with an exit status of its own comes to what
// was asked of it, also where the scheduler, or the bus, is away when it does.
func TestAnswersWhileNobodyLooks(t *testing.T) {
	begin(t)
	for name, away := range map[string][2]string{
		"scheduler": {"systemctl stop gpusched.socket gpusched.service", "systemctl start gpusched.socket gpusched.service"},
		"bus":       {"systemctl stop dbus.socket dbus.service", "systemctl start dbus.socket dbus.service"},
	} {
		sh(t, "alice", "rm -f ~/go")
		requeued, cancelled := told(t, "", "requeue"), told(t, "", "cancel")
		timed := told(t, fmt.Sprintf("-t %s --on-timeout requeue", 2*time.Second*the.slow), "")
		sh(t, "", away[0])
		t.Cleanup(func() { try(t, "", away[1]) })
		sh(t, "alice", "touch ~/go")
		for _, id := range []int64{requeued, cancelled, timed} {
			unitEnded(t, id)
		}
		sh(t, "", away[1])
		ended(t, wait(t, cancelled), job.Cancelled, "cancelled by alice")
		for _, id := range []int64{requeued, timed} {
			if j := wait(t, id); j.State != job.Completed || j.Attempt != 2 {
				t.Errorf("without the %s: job %d is %s in attempt %d: %+v", name, id, j.State, j.Attempt, j.Result)
			}
		}
	}
}

// TestStoppedFromOutside: what an administrator stops with systemctl is told as that, whatever
// the job makes of the signal, and whether or not the scheduler was there: it is no time limit,
// and no end of the job's own.
func TestStoppedFromOutside(t *testing.T) {
	begin(t)
	const sentence = "stopped or removed from outside"
	sh(t, "alice", "rm -f ~/go; touch ~/go")
	deaf := submit(t, "alice", "-g 0 -t 1h --grace 1s -- bash -c 'trap \"\" TERM; echo armed; while :; do sleep 0.1; done'")
	exits := submit(t, "alice", "-g 0 -t 1h -- "+saves("TERM", 3))
	again := submit(t, "alice", "-g 0 --retries 1 --backoff 1s -- "+saves("TERM", 3))
	for _, id := range []int64{deaf, exits, again} {
		printed(t, id, "armed")
		sh(t, "", fmt.Sprintf("systemctl stop --no-block gpujob-%d", id))
	}
	ended(t, wait(t, deaf), job.Lost, sentence)
	ended(t, wait(t, exits), job.Lost, sentence)
	if j := wait(t, again); j.State != job.Completed || j.Attempt != 2 {
		t.Errorf("with a retry: job %d is %s in attempt %d: %+v", again, j.State, j.Attempt, j.Result)
	}

	// Its limit passes while neither it nor the scheduler is there.
	limit := 8 * time.Second * the.slow
	gone := submit(t, "alice", fmt.Sprintf("-g 0 -t %s -- bash -c 'echo armed; sleep 1000'", limit))
	printed(t, gone, "armed")
	began := show(t, "", gone).StartedAt
	sh(t, "", fmt.Sprintf("systemctl stop gpusched.socket gpusched.service; systemctl stop gpujob-%d", gone))
	if left := time.Until(began.Add(limit)); left > 0 {
		<-time.After(left)
	} else {
		t.Errorf("its limit of %s passed before the scheduler was stopped", limit)
	}
	sh(t, "", "systemctl start gpusched.socket gpusched.service")
	ended(t, wait(t, gone), job.Lost, sentence)
}

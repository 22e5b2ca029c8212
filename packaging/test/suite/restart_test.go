//go:build machine

package suite

import (
	"flag"
	"strconv"
	"strings"
	"testing"
	"time"
)

var busAway = flag.Duration("bus-away", 3*time.Second, "time without dbus")

const (
	killDaemon = "systemctl kill --kill-whom=main -s KILL gpusched"

	// upgrade runs the scripts of the package as dpkg does when it replaces the package.
	upgrade = "cd /var/lib/dpkg/info && ./gpusched.prerm upgrade 0.1.0 && ./gpusched.postrm upgrade 0.1.0 && ./gpusched.postinst configure 0.1.0"
)

// TestRestartTouchesNoJob: a running and a waiting job survive a restart, a crash, a reload and an
// upgrade of the daemon.
func TestRestartTouchesNoJob(t *testing.T) {
	begin(t)
	sh(t, "alice", "rm -f ~/end ~/begun")
	id := submit(t, "alice", "-g 4 -- bash -c 'echo begun >> ~/begun; while [ ! -e ~/end ]; do sleep 0.05; done; exit 9'")
	waitRun(t, id)
	invocation := show(t, "", id).InvocationID
	waiting := submit(t, "bob", "-g 1 -- true")
	for _, act := range []string{"systemctl restart gpusched", killDaemon, "systemctl reload gpusched", upgrade, killDaemon} {
		sh(t, "", act)
		poll(t, "the daemon answers", func() bool { return try(t, "alice", "gpusched version").Code == 0 })
		if j := show(t, "", id); j.State != "running" || j.InvocationID != invocation {
			t.Fatalf("after %q the job is %s, %+v", act, j.State, j)
		}
	}
	sh(t, "alice", "touch ~/end")
	mustEnd(t, wait(t, id), "failed", "exit code 9")
	mustEnd(t, wait(t, waiting), "completed", "exit code 0")
	if n := sh(t, "alice", "wc -l < ~/begun"); n != "1" {
		t.Errorf("the command began %s times", n)
	}
}

// TestJobEndsWhileTheDaemonIsDown: the job's unit keeps the result of the job and the time of its
// end.
func TestJobEndsWhileTheDaemonIsDown(t *testing.T) {
	begin(t)
	id, release := submitHold(t, "alice", "-g 1", "exit 11")
	sh(t, "", "systemctl stop gpusched.socket gpusched.service")
	release()
	unitEnded(t, id)
	nanos, err := strconv.ParseInt(strings.TrimSpace(sh(t, "", "date +%s%N")), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if r := try(t, "alice", "gpusched list"); r.Code != 5 || !strings.Contains(r.Stderr, "systemctl") {
		t.Errorf("without a daemon list exits %d: %s", r.Code, r.Stderr)
	}
	sh(t, "", "systemctl start gpusched.socket gpusched.service")
	j := wait(t, id)
	mustEnd(t, j, "failed", "exit code 11")
	if seen := time.Unix(0, nanos); j.EndedAt.After(seen) || j.EndedAt.Before(j.StartedAt) {
		t.Errorf("its end is recorded as %s, but the test saw it at %s; it began at %s", j.EndedAt, seen, j.StartedAt)
	}
}

// TestBusRestart: jobs survive a restart of dbus, and the daemon reconnects to systemd.
func TestBusRestart(t *testing.T) {
	begin(t)
	id := submit(t, "alice", "-g 1 -- sleep 1000")
	waitRun(t, id)
	sh(t, "", "systemctl restart dbus.service dbus.socket")
	after := submit(t, "bob", "-g 1 -- true")
	mustEnd(t, wait(t, after), "completed", "exit code 0")
	if j := show(t, "", id); j.State != "running" {
		t.Errorf("the job is %s: %+v", j.State, j.Result)
	}
}

// TestBusAway: without dbus, running jobs continue and end. New jobs are accepted but wait, and
// health reports the cause. When dbus is back, everything continues by itself.
func TestBusAway(t *testing.T) {
	begin(t)
	on := submit(t, "alice", "-g 1 -- sleep 1000")
	ends, release := submitHold(t, "alice", "-g 1", "exit 6")
	waitRun(t, on)
	back := "systemctl start dbus.socket dbus.service"
	t.Cleanup(func() { try(t, "", back) })
	sh(t, "", "systemctl stop dbus.socket dbus.service")
	gone := time.Now()
	meanwhile := submit(t, "bob", "-g 1 -- true")
	release()
	poll(t, "health says so", func() bool { text, _ := health(t); return strings.Contains(text, "no connection") })
	if r := try(t, "bob", "gpusched list && gpusched why @ && gpusched status"); r.Code != 0 {
		t.Errorf("queries are not answered: %s", r.Stderr)
	}
	<-time.After(*busAway - time.Since(gone))
	if j := show(t, "", meanwhile); j.Result != nil {
		t.Errorf("the job that could not be started is %s: %+v", j.State, j.Result)
	}
	sh(t, "", back)
	mustEnd(t, wait(t, ends), "failed", "exit code 6")
	mustEnd(t, wait(t, meanwhile), "completed", "exit code 0")
	if j := show(t, "", on); j.State != "running" {
		t.Errorf("the running job is %s: %+v", j.State, j.Result)
	}
	poll(t, "health is good again", func() bool { text, _ := health(t); return strings.Contains(text, "answers over the system bus") })
}

// TestWatchdogEndsAHungDaemon: systemd's watchdog kills a daemon that was stopped with SIGSTOP. A
// new daemon starts, and the job continues.
func TestWatchdogEndsAHungDaemon(t *testing.T) {
	begin(t)
	sh(t, "", "mkdir -p /run/systemd/system/gpusched.service.d; printf '[Service]\\nWatchdogSec=2s\\n' > /run/systemd/system/gpusched.service.d/watchdog.conf; systemctl daemon-reload; systemctl restart gpusched")
	t.Cleanup(func() {
		sh(t, "", "rm -r /run/systemd/system/gpusched.service.d; systemctl daemon-reload; systemctl restart gpusched")
	})
	id := submit(t, "alice", "-g 1 -- sleep 1000")
	waitRun(t, id)
	pid := sh(t, "", "systemctl show -P MainPID gpusched")
	sh(t, "", "kill -STOP "+pid)
	poll(t, "systemd replaces it", func() bool {
		now := sh(t, "", "systemctl show -P MainPID gpusched")
		return now != pid && now != "0" && try(t, "", "gpusched version").Code == 0
	})
	if j := show(t, "", id); j.State != "running" {
		t.Errorf("the job is %s: %+v", j.State, j.Result)
	}
}

//go:build machine

package suite

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

var (
	killJobs  = flag.Int("kill-jobs", 40, "number of jobs that are submitted meanwhile")
	kills     = flag.Int("kills", 15, "number of kills of the daemon, at random moments")
	chaosTime = flag.Duration("chaos", 10*time.Second, "duration of random kills, stops and restarts")
	faultSeed = flag.Uint64("fault-seed", 0, "seed of the faults and their moments; 0 picks a random seed, which the log names")
)

// chance returns the random number generator of a test.
func chance(t *testing.T) *rand.Rand {
	t.Helper()
	seed := *faultSeed
	for seed == 0 {
		seed = rand.Uint64N(1e6)
	}
	t.Logf("-fault-seed %d", seed)
	return rand.New(rand.NewPCG(seed, seed))
}

// anotherDaemon runs a command that ends the daemon, and waits until a new daemon runs.
func anotherDaemon(t *testing.T, act string) {
	t.Helper()
	pid := daemonPID(t)
	try(t, "", act)
	poll(t, "another daemon runs", func() bool { now := daemonPID(t); return now != "0" && now != pid })
}

// TestKills: the daemon is killed at random moments while jobs are submitted,
// start, run and end. Each acknowledged job ends exactly once, its command
// began once, and no GPU was assigned to two jobs at the same time.
func TestKills(t *testing.T) {
	begin(t)
	random := chance(t)
	began := time.Now()
	count := *killJobs / 2
	// A kill takes about half a second. A submission takes about as long, because it often finds no
	// daemon.
	l := startLoad(t, count, time.Duration(*kills)*200*time.Millisecond/time.Duration(count))
	for range *kills {
		<-time.After(time.Duration(random.IntN(400)) * time.Millisecond)
		anotherDaemon(t, killDaemon)
	}
	took := time.Since(began)
	l.checkAll(t, nil)
	t.Logf("%d jobs, %d kills in %s", *killJobs, *kills, took.Round(time.Second))
}

// A fault is something that can go wrong on a machine.
type fault struct {
	name   string
	weight int
	do     func(t *testing.T, c *chaos)
}

// chaos is the state that the faults of one test share.
type chaos struct {
	random *rand.Rand
	hurt   map[int64]bool // jobs in which a fault killed a process
}

// command returns a fault that runs a shell command line as root.
func command(line string) func(*testing.T, *chaos) {
	return func(t *testing.T, _ *chaos) { try(t, "", line) }
}

const reader = "-f '^/usr/libexec/gpusched/gpusched-nvml'"

// faults returns the faults that can happen at any moment. systemd gives
// up on a service that starts more than five times in ten seconds. The
// faults therefore reset the counters of journald and dbus.
func faults() []fault {
	return []fault{
		{"the daemon is killed", 6, func(t *testing.T, _ *chaos) { anotherDaemon(t, killDaemon) }},
		{"the daemon is restarted", 2, func(t *testing.T, _ *chaos) { anotherDaemon(t, "systemctl restart gpusched") }},
		{"the daemon reloads", 1, command("systemctl reload gpusched")},
		{"a job's main process is killed", 4, func(t *testing.T, c *chaos) { c.killJob(t, "main") }},
		{"all processes of a job are killed", 2, func(t *testing.T, c *chaos) { c.killJob(t, "all") }},
		{"the NVML process is killed", 3, command("pkill -KILL " + reader)},
		{"the NVML process hangs", 1, command("pkill -STOP " + reader + "; sleep 1; pkill -CONT " + reader)},
		{"journald is killed", 1, command("systemctl reset-failed systemd-journald; systemctl kill --kill-whom=main -s KILL systemd-journald")},
		{"journald is restarted", 1, command("systemctl reset-failed systemd-journald; systemctl restart systemd-journald")},
		{"dbus is restarted", 1, command("systemctl reset-failed dbus.service; systemctl restart dbus.service dbus.socket")},
		{"systemd reloads", 2, command("systemctl daemon-reload")},
		{"systemd is executed anew", 2, command("systemctl daemon-reexec")},
	}
}

// killJob kills a process of a job that has a unit at this
// moment. The job may be about to start or may have just ended.
func (c *chaos) killJob(t *testing.T, whom string) {
	t.Helper()
	units := strings.Fields(try(t, "", "systemctl list-units --no-legend --plain 'gpujob-*.service' | cut -d' ' -f1").Stdout)
	if len(units) == 0 {
		return
	}
	unit := units[c.random.IntN(len(units))]
	var id int64
	if _, err := fmt.Sscanf(unit, "gpujob-%d.service", &id); err != nil {
		t.Fatal(err)
	}
	c.hurt[id] = true
	try(t, "", "systemctl kill -s KILL --kill-whom="+whom+" "+unit)
}

// TestChaos: while two accounts submit jobs, random faults of the machine happen, one after the
// other.
func TestChaos(t *testing.T) {
	begin(t)
	c := &chaos{random: chance(t), hurt: map[int64]bool{}}
	var deck []fault
	for _, f := range faults() {
		for range f.weight {
			deck = append(deck, f)
		}
	}
	l := startLoad(t, max(20, int(chaosTime.Seconds()*4)), 150*time.Millisecond)
	counts := map[string]int{}
	for end := time.Now().Add(*chaosTime); time.Now().Before(end); {
		<-time.After(time.Duration(c.random.IntN(100)) * time.Millisecond)
		f := deck[c.random.IntN(len(deck))]
		counts[f.name]++
		f.do(t, c)
	}
	l.checkAll(t, c.hurt)
	t.Logf("faults: %v", counts)
}

// TestSystemdStartsAnew: systemd is reloaded and re-executed again and again. It forgets no job,
// and the daemon misses no event, not even an event that systemd does not report.
func TestSystemdStartsAnew(t *testing.T) {
	begin(t)
	on := submit(t, "alice", "-g 1 -- sleep 1000")
	waitRun(t, on)
	was := show(t, "", on)
	rounds := *kills
	l := startLoad(t, *killJobs/2, 100*time.Millisecond)
	for n := range rounds {
		sh(t, "", []string{"systemctl daemon-reload", "systemctl daemon-reexec"}[n%2])
	}
	if j := show(t, "", on); j.State != "running" || j.InvocationID != was.InvocationID {
		t.Errorf("the job that ran is %s: %+v", j.State, j.Result)
	}
	cancel(t, "alice", on)
	l.checkAll(t, nil)
	t.Logf("%d reloads and new executions", rounds)
}

//go:build machine

package suite

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/store"
	"github.com/gpusched/gpusched/packaging/test/disk"
	"github.com/gpusched/gpusched/packaging/test/vm"
)

var (
	powerCuts = flag.Int("power-cuts", 1, "number of power cuts of the machine")
	diskCuts  = flag.Int("disk-cuts", 20, "number of copies of the disk as a power cut would leave it")
)

// TestBootWithJobs: a reboot ends running jobs. Jobs and tasks of arrays are queued again if they
// allow that. All others are lost and not retried. Waiting jobs still wait, and a paused GPU stays
// paused.
func TestBootWithJobs(t *testing.T) { rebootWithJobs(t) }

// TestContainerRestart: the restart of a container has the same effect as a reboot, although the
// kernel and its boot id stay the same.
func TestContainerRestart(t *testing.T) { rebootWithJobs(t) }

// TestSoftReboot: a soft reboot (systemd 254 and later) ends running jobs like any reboot, although
// the kernel and its boot id stay the same.
func TestSoftReboot(t *testing.T) {
	begin(t)
	version := systemdVersion(t) // read before the soft reboot, which would end the command
	again := submit(t, "alice", "--gpu-ids 0 -- sleep 1000")
	lost := submit(t, "alice", "--gpu-ids 1 --no-requeue -- sleep 1000")
	waiting := submit(t, "bob", "--gpu-ids 1 -- true")
	waitRun(t, again)
	waitRun(t, lost)
	asked := try(t, "", "systemctl soft-reboot").Code == 0 // the soft reboot may end the command
	if version < 254 {
		if asked {
			t.Error("this systemd knows no soft reboot")
		}
		cancel(t, "alice", again, lost)
		wait(t, waiting)
		return
	}
	poll(t, "the job is started again", func() bool {
		out := try(t, "", fmt.Sprintf("gpusched show --json %d", again)).Stdout
		return strings.Contains(strings.ReplaceAll(out, " ", ""), `"attempt":2`)
	})
	mustEnd(t, wait(t, lost), "lost", "restarted while the job ran")
	mustEnd(t, wait(t, waiting), "completed", "exit code 0")
	cancel(t, "alice", again)
}

// systemdVersion returns the version of the machine's systemd.
func systemdVersion(t *testing.T) (version int) {
	t.Helper()
	if _, err := fmt.Sscanf(sh(t, "", "systemctl --version"), "systemd %d", &version); err != nil {
		t.Fatal(err)
	}
	return version
}

// rebootWithJobs reboots the machine. A service that is ordered after the daemon is slow to stop,
// so the daemon still runs for some seconds after the jobs are stopped. The service has opened a
// connection to the daemon on which it sends no request.
func rebootWithJobs(t *testing.T) {
	begin(t)
	installProgram(t, "../attacker", attackerPath)
	sh(t, "", "systemd-run --quiet --unit late --uid bob -p After=gpusched.service -p TimeoutStopSec=6 "+attackerPath+" half-open")
	sh(t, "alice", "rm -f ~/begun")
	again := submit(t, "alice", "--gpu-ids 0 -- bash -c 'echo begun >> ~/begun; sync; sleep 1000'")
	lost := submit(t, "alice", "--gpu-ids 1 --no-requeue -- sleep 1000")
	retried := submit(t, "alice", "-g 0 --no-requeue --retries 1 -- bash -c '[ $GPUSCHED_ATTEMPT = 2 ] || sleep 1000'")
	array := submit(t, "bob", "-g 0 --array 0-2%2 -- bash -c '[ $GPUSCHED_ATTEMPT = 2 ] || [ $GPUSCHED_ARRAY_TASK = 2 ] || sleep 1000; exit $GPUSCHED_ARRAY_TASK'")
	waiting := submit(t, "bob", "--gpu-ids 1 -- true")
	var behind []int64
	for range 10 {
		behind = append(behind, submit(t, "bob", "--gpu-ids 0,1 -- true"))
	}
	for _, id := range []int64{again, lost, retried} {
		waitRun(t, id)
	}
	poll(t, "two tasks of the array run", func() bool {
		run := 0
		for _, j := range list(t, fmt.Sprint(array)) {
			if int64(j.ID) != array && j.State == "running" {
				run++
			}
		}
		return run == 2
	})
	sh(t, "", "gpusched gpu pause 3 --reason kept; sync")
	if err := the.Reboot(t.Context()); err != nil {
		t.Fatal(err)
	}
	poll(t, "the daemon answers", func() bool { return try(t, "", "gpusched version").Code == 0 })
	poll(t, "the job runs again", func() bool { j := show(t, "", again); return j.Attempt == 2 && j.State == "running" })
	mustEnd(t, wait(t, lost), "lost", "restarted while the job ran")
	if j := wait(t, retried); j.Attempt != 1 {
		t.Errorf("job %d, which must not be retried after a reboot, is in attempt %d", retried, j.Attempt)
	} else {
		mustEnd(t, j, "lost", "restarted while the job ran")
	}
	mustEnd(t, wait(t, waiting), "completed", "exit code 0")
	cancel(t, "alice", again)
	for _, id := range behind {
		j := wait(t, id)
		if mustEnd(t, j, "completed", "exit code 0"); j.Attempt != 1 {
			t.Errorf("waiting job %d was started %d times", id, j.Attempt)
		}
	}
	mustEnd(t, wait(t, array), "failed", "2 of 3 tasks did not complete")
	if out := sh(t, "", "gpusched gpus"); !strings.Contains(out, "paused") {
		t.Errorf("the pause is forgotten: %s", out)
	}
	if n := sh(t, "alice", "wc -l < ~/begun"); n != "2" {
		t.Errorf("the command of the requeued job began %s times", n)
	}
}

// TestBootPowerCut: the machine loses power while jobs are submitted. Its disk loses a random part
// of the unflushed blocks. After the boot, the daemon knows every acknowledged job.
func TestBootPowerCut(t *testing.T) {
	begin(t)
	installLoadgen(t)
	sh(t, "", "gpusched gpu pause 0-3; sync")
	l := &load{acked: map[string]int64{}}
	for n := range *powerCuts {
		before := len(l.acknowledgedJobs())
		l.stream(t.Context(), t, "bob", "loadgen", "-hold", fmt.Sprintf("cut%d", n), "100000", "true")
		poll(t, "jobs are acknowledged", func() bool { return len(l.acknowledgedJobs()) > before+10 })
		<-time.After(time.Duration(rand.IntN(2000)) * time.Millisecond)
		if err := the.PowerCut(t.Context()); err != nil {
			t.Fatal(err)
		}
		l.done.Wait()
		poll(t, "the daemon answers", func() bool { return try(t, "", "gpusched version").Code == 0 })
		checkKept(t, l.acknowledgedJobs())
		t.Logf("cut %d: %d jobs were acknowledged before it", n, len(l.acknowledgedJobs()))
	}
	id := submit(t, "alice", "-g 1 -- true")
	sh(t, "", "gpusched cancel $(gpusched list -o ids --user bob); gpusched gpu resume 0-3")
	mustEnd(t, wait(t, id), "completed", "exit code 0")
}

// checkKept checks that the daemon knows each of these jobs exactly once.
func checkKept(t *testing.T, acked map[string]int64) {
	t.Helper()
	known := map[string][]int64{}
	for _, j := range allJobs(t) {
		known[j.Name] = append(known[j.Name], int64(j.ID))
	}
	for name, id := range acked {
		if ids := known[name]; len(ids) != 1 || ids[0] != id {
			t.Errorf("%s was acknowledged as job %d, and there are %d", name, id, ids)
		}
	}
}

// TestBootDiskCuts: while jobs are submitted, start and end, the test copies the disk at random
// moments. A copy is what a power cut would leave: it lacks a random part of the unflushed blocks.
// In each copy the state file is intact and contains every job that was acknowledged before the
// copy.
func TestBootDiskCuts(t *testing.T) {
	begin(t)
	installLoadgen(t)
	l := &load{acked: map[string]int64{}}
	ctx, stop := context.WithCancel(t.Context())
	l.stream(ctx, t, "bob", "loadgen", "-pace", "100ms", "bob", "100000", "true")
	l.stream(ctx, t, "alice", "loadgen", "-hold", "-pace", "100ms", "alice", "100000", "true")
	defer func() {
		stop()
		l.done.Wait()
		try(t, "", "gpusched cancel $(gpusched list -o ids)") // some jobs end by themselves meanwhile
	}()
	poll(t, "jobs are acknowledged", func() bool { return len(l.acknowledgedJobs()) > 20 })
	var last int
	var sum disk.Loss
	for n := range *diskCuts {
		<-time.After(time.Duration(rand.IntN(1000)) * time.Millisecond)
		dir := t.TempDir()
		image := filepath.Join(dir, "disk")
		var acked map[string]int64
		loss, err := the.CutCopy(t.Context(), image, func() { acked = l.acknowledgedJobs() })
		if err != nil {
			t.Fatal(err)
		}
		if err := vm.ReadDisk(t.Context(), image, stateDir, dir); err != nil {
			t.Fatal(err)
		}
		os.Remove(image)
		if err := checkStateFile(t.Context(), filepath.Join(dir, filepath.Base(stateDir), "state.db"), acked); err != nil {
			t.Errorf("cut %d, which kept %d blocks and lost %d: %v", n, loss.Kept, loss.Lost, err)
		}
		last, sum.Kept, sum.Lost = len(acked), sum.Kept+loss.Kept, sum.Lost+loss.Lost
	}
	t.Logf("%d cuts kept %d unflushed blocks and lost %d; %d jobs were acknowledged at the last one", *diskCuts, sum.Kept, sum.Lost, last)
}

// checkStateFile checks that a state file is intact, contains each of these jobs, and will not
// reuse their ids.
func checkStateFile(ctx context.Context, path string, jobs map[string]int64) error {
	s, err := store.Open(ctx, path, store.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Check(ctx); err != nil {
		return err
	}
	state, err := s.Load(ctx)
	if err != nil {
		return err
	}
	for name, id := range jobs {
		found, err := s.Jobs(ctx, []job.ID{job.ID(id)})
		if err != nil || len(found) != 1 || found[0].Label.Name != name || int64(state.NextID) <= id {
			return fmt.Errorf("%s was acknowledged as job %d, which is %v; the next id is %d (%v)", name, id, found, state.NextID, err)
		}
	}
	return nil
}

//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// countedCommand returns a command that appends a line to ~/runs/NAME and then runs the given
// command.
func countedCommand(name, command string) string {
	return fmt.Sprintf("bash -c 'echo $GPUSCHED_ATTEMPT >> ~/runs/%s; %s'", name, command)
}

// TestSchedulerPreemption: a scavenger is preempted at the end of its time slice, and runs again
// later. Meanwhile the daemon is killed again and again, while a GPU is paused, a priority changes,
// an array runs and a reservation exists. Nothing is lost, and nothing runs more often than it
// should.
func TestSchedulerPreemption(t *testing.T) {
	begin(t)
	const slice = 8 * time.Second
	settings(t, fmt.Sprintf("[scheduling]\nslice = %q", slice*the.slow))
	sh(t, "alice", "rm -rf ~/runs; mkdir -m 777 ~/runs; chmod 755 ~; rm -f ~/end")
	victim := submit(t, "alice", "-p scavenger -g 2 --gpus-from 0-1 --grace 1s -- "+countedCommand("victim", "[ $GPUSCHED_ATTEMPT -gt 1 ] || exec sleep 1000"))
	waitRun(t, victim)
	from := show(t, "", victim).StartedAt
	stays := submit(t, "alice", "--gpu-ids 2 -- "+countedCommand("stays", "while [ ! -e ~/end ]; do sleep 0.1; done"))
	waitRun(t, stays)
	sh(t, "", "gpusched gpu pause 3 --reason fan --until +1h; gpusched reserve make --gpus 3 --from +2h --for 1h --user bob")
	paused := submit(t, "bob", "--gpu-ids 3 -- true")
	low := submit(t, "alice", "--gpu-ids 2 -- "+countedCommand("order", "echo low >> ~/runs/words"))
	first := submit(t, "alice", "-p -5 --gpu-ids 2 -- "+countedCommand("order", "echo first >> ~/runs/words"))
	winner := submit(t, "bob", "-g 2 --gpus-from 0-1 -- bash -c 'echo x >> ~alice/runs/winner'")
	unit := show(t, "", stays).InvocationID
	array := killAround(t, from.Add(slice*the.slow), func() int64 {
		sh(t, "alice", fmt.Sprintf("gpusched update %d -p low", low))
		return submit(t, "alice", "-g 0 --array 0-29%4 -- "+countedCommand("task$GPUSCHED_ARRAY_TASK", "sleep 0.2"))
	})
	j, v := wait(t, winner), wait(t, victim)
	mustEnd(t, wait(t, array), "completed", "exit code 0")
	mustEnd(t, j, "completed", "exit code 0")
	mustEnd(t, v, "completed", "exit code 0")
	if ran := j.StartedAt.Sub(from); ran < slice*the.slow || v.Attempt != 2 || v.Requeues != 1 {
		t.Errorf("the scavenger had %s, attempt %d, requeues %d", ran, v.Attempt, v.Requeues)
	}
	if out := sh(t, "alice", fmt.Sprintf("gpusched show %d", victim)); !strings.Contains(out, fmt.Sprintf("to make room for job %d,", winner)) {
		t.Errorf("the scavenger does not say which job preempted it:\n%s", out)
	}
	waitsFor(t, "bob", paused, "paused by an administrator (fan)")
	if out := sh(t, "", "gpusched reserve list"); !strings.Contains(out, "bob") {
		t.Errorf("the reservation is lost: %s", out)
	}
	if j := show(t, "", stays); j.State != "running" || j.InvocationID != unit {
		t.Errorf("the bystander is %s, another: %t", j.State, j.InvocationID != unit)
	}
	sh(t, "alice", "touch ~/end")
	for _, id := range []int64{stays, first, low} {
		mustEnd(t, wait(t, id), "completed", "exit code 0")
	}
	if got := sh(t, "alice", "cd ~/runs; cat victim stays winner words | tr '\\n' ' '; cat task* | wc -l; ls task* | wc -l"); got != "1 2 1 x first low 30\n30" {
		t.Errorf("what ran: %q", got)
	}
}

// killAround kills the daemon a few times, submits an array, and then kills the daemon again and
// again until some time after the end of a time slice.
func killAround(t *testing.T, over time.Time, array func() int64) int64 {
	t.Helper()
	kill := func() {
		sh(t, "", killDaemon)
		poll(t, "the daemon answers", func() bool { return try(t, "", "gpusched version").Code == 0 })
		<-time.After(200 * time.Millisecond)
	}
	for range 3 {
		kill()
	}
	id := array()
	for n := 0; n < 8 || time.Now().Before(over.Add(2*time.Second)); n++ {
		kill()
	}
	return id
}

package core

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// A job is passed late from when GPUs are kept for it for so long as is said, by what is
// expected now, whatever its planned start is; others that GPUs are not kept for count nothing.
func TestPatience(t *testing.T) {
	var p patience
	at := func(minutes int) sched.Instant { return sched.Instant(time.Duration(minutes) * time.Minute) }
	long := time.Hour
	note := func(now int, id job.ID) sched.Instant {
		p.note([]sched.BackfillReservation{{Job: id, At: sched.Never}}, func(job.ID) time.Duration { return long }, at(now))
		return p.until()
	}
	if got := p.until(); got != sched.Never {
		t.Errorf("with no job: %s", time.Duration(got))
	}
	for _, step := range []struct {
		now   int
		id    job.ID
		until int
	}{
		{0, 1, 60},
		{50, 1, 60},
		{55, 2, 115}, // another goes before
		{70, 1, 60},
	} {
		if got := note(step.now, step.id); got != at(step.until) {
			t.Errorf("after %d min: %s, want %d min", step.now, time.Duration(got), step.until)
		}
	}
	if long = 2 * time.Hour; note(80, 1) != at(120) {
		t.Errorf("expected to run longer by now: %s", time.Duration(p.until()))
	}
	if p.shift(-time.Hour); p.until() != at(60) {
		t.Errorf("with the clock set back: %s", time.Duration(p.until()))
	}
	p.forget(func(id job.ID) bool { return id != 1 })
	if got := note(90, 1); got != at(210) {
		t.Errorf("one that waits anew: %s", time.Duration(got))
	}
}

// What is remembered is bounded, whoever comes and goes.
func TestPatienceIsBounded(t *testing.T) {
	var p patience
	for id := range job.ID(1000) {
		kept := []sched.BackfillReservation{{Job: id, At: sched.Instant(id + 1)}}
		p.note(kept, func(job.ID) time.Duration { return time.Hour }, sched.Instant(id))
		p.forget(func(job.ID) bool { return true })
	}
	if len(p.jobs) != maxPassed || !p.jobs[maxPassed-1].kept {
		t.Errorf("%d are remembered", len(p.jobs))
	}
}

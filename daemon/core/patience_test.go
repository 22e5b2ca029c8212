package core

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// A job is passed for so many times the shortest that its planned start was away, however
// often it recedes, and others that GPUs are kept for no longer change nothing.
func TestPatience(t *testing.T) {
	var p patience
	at := func(minutes int) sched.Instant { return sched.Instant(time.Duration(minutes) * time.Minute) }
	for _, step := range []struct {
		now, start int
		id         job.ID
		until      int
	}{
		{0, 30, 1, 180},
		{10, 50, 1, 180}, // it recedes
		{20, 40, 1, 120}, // it comes closer
		{30, 31, 2, 36},  // another goes before
		{40, 80, 1, 120}, // which is forgotten again
		{130, 170, 1, 120},
	} {
		p.note([]sched.BackfillReservation{{Job: step.id, At: at(step.start)}}, 6, at(step.now))
		if got := p.until(); got != at(step.until) {
			t.Errorf("after %d min: %s, want %d min", step.now, time.Duration(got), step.until)
		}
	}
	p.note([]sched.BackfillReservation{{Job: 3, At: sched.Never}}, 6, at(140))
	if got := p.until(); got != at(140+48*60) {
		t.Errorf("with no start: %s", time.Duration(got))
	}
	p.shift(-time.Hour)
	if got := p.until(); got != at(80+48*60) {
		t.Errorf("with the clock set back: %s", time.Duration(got))
	}
	p.forget(func(id job.ID) bool { return id != 1 })
	p.note([]sched.BackfillReservation{{Job: 1, At: at(151)}}, 6, at(150))
	if got := p.until(); got != at(156) {
		t.Errorf("one that waits anew: %s", time.Duration(got))
	}
}

// What is remembered is bounded, whoever comes and goes.
func TestPatienceIsBounded(t *testing.T) {
	var p patience
	for id := range job.ID(1000) {
		p.note([]sched.BackfillReservation{{Job: id, At: sched.Instant(id + 1)}}, 6, sched.Instant(id))
		p.forget(func(job.ID) bool { return true })
	}
	if len(p.jobs) != maxPassed || !p.jobs[maxPassed-1].kept {
		t.Errorf("%d are remembered", len(p.jobs))
	}
}

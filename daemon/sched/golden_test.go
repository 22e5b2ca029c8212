package sched

import (
	"crypto/sha256"
	"fmt"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/packaging/test/golden"
)

// The same events give the same decisions in each run and in each version. The golden files are
// hashes of all decisions of a few busy days under each policy. If a change is meant to alter
// decisions, -update rewrites the files.
func TestSameDecisions(t *testing.T) {
	got := ""
	for _, c := range []struct {
		name   string
		policy Policy
	}{
		{"fair", Policy{HalfLife: week, GuardAfter: 12 * time.Hour, GuardPercent: 50, ReservationDepth: 1, Slice: 30 * time.Minute}},
		{"deep", Policy{HalfLife: time.Hour, GuardAfter: 12 * time.Hour, GuardPercent: 50, ReservationDepth: 3, Slice: 30 * time.Minute}},
		{"late", Policy{HalfLife: week, GuardAfter: 12 * time.Hour, GuardPercent: 50, ReservationDepth: 1, Patience: 2, Slice: 30 * time.Minute}},
		{"fifo", Policy{FIFO: true, ReservationDepth: 1, Slice: 30 * time.Minute}},
	} {
		first := decisions(t, c.policy)
		if again := decisions(t, c.policy); again != first {
			t.Errorf("%s: decided otherwise the second time", c.name)
		}
		got += c.name + " " + first + "\n"
	}
	golden.Check(t, "decisions", got)
}

// decisions returns a hash of all starts and stops in a few busy days.
func decisions(t *testing.T, policy Policy) string {
	l := newLoop(t, 1, 8, policy)
	users := l.anyUsers()
	for i := range 300 {
		l.anyJob(time.Duration(i)*17*time.Minute, users)
	}
	for i, j := range l.jobs {
		j.Late = j.Expected * time.Duration(1+i%4)
	}
	sum, n := sha256.New(), 0
	l.passed = func(p *Plan, _ []job.ID) {
		for _, x := range p.Place {
			type og struct {
				GPU, Milli int
				Bytes      int64
			}
			var gs []og
			for _, g := range x.Grants {
				gs = append(gs, og{g.GPU, g.Milli, g.Bytes})
			}
			fmt.Fprintf(sum, "%d start {%v %v %v}\n", l.s.Now, x.Job, gs, x.Guarded)
		}
		for _, v := range p.Preempt {
			fmt.Fprintf(sum, "%d stop {%v %v}\n", l.s.Now, v.Victim, v.For)
		}
		n += len(p.Place) + len(p.Preempt)
	}
	l.toTheEnd()
	return fmt.Sprintf("%d decisions %x", n, sum.Sum(nil))
}

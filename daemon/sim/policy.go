package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// A Policy is a named way to order jobs.
type Policy struct {
	Name        string
	Sched       sched.Policy
	Gate        bool    // a job enters the core only when all jobs before it have started, so no job passes another
	Preemptible float64 // share of the jobs that are preemptible
}

// A Tuning changes a policy. The zero value changes nothing.
type Tuning struct {
	Depth       *int // number of jobs with a backfill reservation
	HalfLife    time.Duration
	Slice       time.Duration
	Preemptible *float64
}

// Product returns the daemon's default policy.
func Product() sched.Policy {
	return sched.Policy{
		HalfLife: 7 * day, GuardAfter: 7 * day, GuardPercent: 50,
		ReservationDepth: 1, Patience: sched.DefaultPatience, Slice: 30 * time.Minute,
	}
}

// Policies returns all policies, simplest first.
func Policies() []Policy {
	return []Policy{
		{Name: "fifo-strict", Sched: sched.Policy{FIFO: true}, Gate: true},
		{Name: "fifo", Sched: sched.Policy{FIFO: true}},
		{Name: "fifo-easy", Sched: sched.Policy{FIFO: true, ReservationDepth: 1}},
		{Name: "fair", Sched: Product()},
		{Name: "fair-preempt", Sched: Product(), Preemptible: 1},
	}
}

// Named returns the policy with this name, after applying the tuning t.
func Named(name string, t Tuning) (Policy, error) {
	all := Policies()
	at := slices.IndexFunc(all, func(p Policy) bool { return p.Name == name })
	if at < 0 {
		return Policy{}, fmt.Errorf("there is no policy %q: choose among %s", name, strings.Join(Names(), ", "))
	}
	p := all[at]
	if t.Depth != nil {
		p.Sched.ReservationDepth = *t.Depth
	}
	if t.HalfLife > 0 && p.Sched.HalfLife > 0 {
		p.Sched.HalfLife = t.HalfLife
	}
	if t.Slice > 0 {
		p.Sched.Slice = t.Slice
	}
	if t.Preemptible != nil {
		p.Preemptible = *t.Preemptible
	}
	return p, nil
}

// Names returns the names of all policies.
func Names() []string {
	return job.Each(Policies(), func(p Policy) string { return p.Name })
}

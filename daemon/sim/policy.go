package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/sched"
)

// Policy is a way to order jobs, by name.
type Policy struct {
	Name        string
	Sched       sched.Policy
	Gate        bool    // a job reaches the scheduler when all before it have started: nobody passes anybody
	Preemptible float64 // the share of jobs that may be stopped for others
}

// Tuning changes a policy. Its zero value changes nothing.
type Tuning struct {
	Depth       *int // jobs with GPUs kept for them
	HalfLife    time.Duration
	Slice       time.Duration
	Preemptible *float64
}

// Product is the order that the daemon follows unless its site says otherwise.
func Product() sched.Policy {
	return sched.Policy{
		HalfLife: 7 * day, GuardAfter: 7 * day, GuardPercent: 50,
		ReservationDepth: 1, Patience: sched.DefaultPatience, Slice: 30 * time.Minute,
	}
}

// Policies are all policies, the plainest first.
func Policies() []Policy {
	return []Policy{
		{Name: "fifo-strict", Sched: sched.Policy{FIFO: true}, Gate: true},
		{Name: "fifo", Sched: sched.Policy{FIFO: true}},
		{Name: "fifo-easy", Sched: sched.Policy{FIFO: true, ReservationDepth: 1}},
		{Name: "fair", Sched: Product()},
		{Name: "fair-preempt", Sched: Product(), Preemptible: 1},
	}
}

// Named returns the policy of that name, tuned.
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

// Names lists the policies' names.
func Names() []string {
	var names []string
	for _, p := range Policies() {
		names = append(names, p.Name)
	}
	return names
}

package sched

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// oneOf draws an element of a list.
func oneOf[T any](l *loop, list ...T) T { return list[l.IntN(len(list))] }

// anyPolicy draws a policy.
func (l *loop) anyPolicy() {
	l.s.Policy = Policy{
		FIFO: l.IntN(3) == 0, HalfLife: oneOf(l, 0, time.Hour, week), GuardAfter: oneOf(l, 0, time.Hour, 24*time.Hour), GuardPercent: 50,
		ReservationDepth: oneOf(l, 0, 1, 1, 2), Slice: oneOf(l, time.Minute, 30*time.Minute),
	}
}

// anyUsers returns accounts with drawn quotas and shares. Two of the accounts are in a group.
func (l *loop) anyUsers() []*Account {
	lab := &Account{UID: -1, Name: "lab", MaxMilli: 4000, MaxUsage: oneOf(l, 0, 5*time.Hour), Share: l.IntN(3)}
	return []*Account{
		{UID: 1001, Name: "a"},
		{UID: 1002, Name: "b", MaxJobs: 1 + l.IntN(3), Share: 2},
		{UID: 1003, Name: "c", MaxMilli: 1500, Groups: []*Account{lab}},
		{UID: 1004, Name: "d", MaxUsage: 10 * time.Hour, Groups: []*Account{lab}},
	}
}

// anyJob draws a job: a request, a run time, and another time as the expected one. It adds the job
// if the job is feasible.
func (l *loop) anyJob(after time.Duration, users []*Account) {
	r := job.Request{
		GPUMilli: oneOf(l, 0, 250, 500, 700, 1000, 1000, 1000, 1500, 2000, 2250, 4000, len(l.s.GPUs)*1000),
		Priority: job.Priority{Class: oneOf(l, job.Normal, job.Normal, job.High, job.Scavenger), Number: l.IntN(2)},
		Spread:   l.IntN(4) == 0, Preemptible: l.IntN(3) == 0,
	}
	run := time.Duration(1+l.IntN(300)) * time.Minute
	if r.GPUMilli > 0 {
		r.GPUMemBytes = oneOf(l, 0, 10*gib, 80*gib)
	}
	if l.IntN(4) == 0 {
		r.TimeLimit = job.Span(run + time.Minute)
	}
	if l.IntN(8) == 0 && r.Devices() > 0 && r.Devices() < len(l.s.GPUs) {
		r.GPUsFrom = make([]int, 0, len(l.s.GPUs))
		for i := range r.Devices() + 1 {
			r.GPUsFrom = append(r.GPUsFrom, len(l.s.GPUs)-2-r.Devices()+i+1)
		}
	}
	a := oneOf(l, users...)
	if Infeasible(&l.s, a, &r) != nil {
		return
	}
	l.add(after, a, r, run).Expected = time.Duration(1+l.IntN(300)) * time.Minute
}

// No feasible job waits for ever, whatever the policy, the quotas and the advance reservations. No
// quota is exceeded meanwhile.
func TestEveryJobStarts(t *testing.T) {
	for seed := range drawing(150) {
		l := newLoop(t, seed, 1+int(seed%8), Policy{})
		l.anyPolicy()
		users := l.anyUsers()
		for i := range l.IntN(3) {
			from := noon.Add(time.Duration(1+l.IntN(20)) * time.Hour)
			r := AdvanceReservation{From: from, To: from.Add(5 * time.Hour), GPUs: make([]bool, len(l.s.GPUs))}
			for g := range r.GPUs {
				r.GPUs[g] = l.IntN(2) == 0
			}
			if i == 0 {
				r.Groups = []string{"lab"}
			}
			l.s.Reserved = append(l.s.Reserved, r)
		}
		for i := range 40 {
			l.anyJob(time.Duration(i/4)*time.Hour, users)
		}
		l.passed = func(*Plan, []job.ID) { l.checkQuotas(users) }
		l.toTheEnd()
		if t.Failed() {
			t.Fatalf("seed %d, policy %+v", seed, l.s.Policy)
		}
	}
}

// checkQuotas checks invariant 6 at every moment.
func (l *loop) checkQuotas(users []*Account) {
	for _, u := range users {
		for _, a := range append([]*Account{u}, u.Groups...) {
			if a.MaxJobs > 0 && a.Jobs > a.MaxJobs || a.MaxMilli > 0 && a.Milli > a.MaxMilli {
				l.Errorf("%s is above its quota: %+v", a.Name, *a)
			}
		}
	}
}

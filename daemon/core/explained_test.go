package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// asker is a machine with a client that asks why jobs wait. Jobs run until their limit. Jobs
// without a limit run for an hour.
type asker struct {
	*testing.T
	*world
}

func newAsker(t *testing.T, gpus int, set func(p *site.Policy)) *asker {
	w := newWorld(gpus, func(string, ...any) {})
	w.policy.Predict = func(job.ID) time.Duration { return time.Hour }
	if set != nil {
		set(&w.policy)
	}
	w.revive()
	w.step(w.listed(), -1)
	w.step(w.sample(0), -1)
	return &asker{t, w}
}

func (a *asker) submit(user string, r job.Request, change ...func(*job.Submission)) job.ID {
	a.Helper()
	s := job.Submission{Owner: job.Owner{UID: 1000 + int(user[0]), User: user}, Label: job.Label{Name: "j"}, Request: r, Admin: true}
	for _, f := range change {
		f(&s)
	}
	a.token++
	a.step(core.Submit{Token: a.token, Submission: s}, -1)
	reply := a.replies[a.token]
	if reply.Refusal != nil {
		a.Fatal(words.Say(reply.Refusal.Message))
	}
	a.settle()
	a.waitAndSample(time.Minute)
	return reply.ID
}

// waitAndSample lets time pass and then samples the GPUs.
func (a *asker) waitAndSample(d time.Duration) {
	a.now = a.now.Add(d)
	a.step(a.sample(0), -1)
	a.settle()
}

// printAhead describes the jobs that go before a job.
func (a *asker) printAhead(id job.ID) string {
	e, _ := a.core.Explained(id, a.now)
	var list []string
	for i := range e.Ahead {
		list = append(list, e.Ahead[i].Called+" "+words.Ahead(&e.Ahead[i], fmt.Sprint(id)))
	}
	if e.More > 0 {
		list = append(list, fmt.Sprintf("%d more", e.More))
	}
	return strings.Join(list, ", ")
}

// printSooner describes the changes that would make a job start sooner, with the start times.
func (a *asker) printSooner(id job.ID) string {
	trial, asked := a.core.Trial(id, a.now), a.jobs[id].Request
	if trial == nil {
		return "nothing to try"
	}
	always := func() bool { return true }
	trial.BeginWhile(always, trial.Ahead)
	list, tried := trial.TriedWhile(always)
	var out []string
	for i := range list {
		options, without := words.Sooner(&list[i], &asked)
		what := strings.Join(slices.Concat(options, without), " ")
		if len(without) > 0 {
			what = "without " + what
		}
		out = append(out, fmt.Sprintf("%s +%s", what, list[i].Start.At.Sub(a.now).Round(time.Second)))
	}
	if again := a.core.Trial(id, a.now); again.BeginWhile(always, again.Ahead) {
		if _, n := again.TriedWhile(func() bool { return false }); n != 0 {
			a.Error("changes are tried though nobody asks any more")
		}
	}
	return fmt.Sprintf("%s of %d", strings.Join(out, ", "), tried)
}

func whole(n int) job.Request { return job.Request{GPUMilli: n * job.WholeGPU} }

func (a *asker) want(what, got, want string) {
	a.Helper()
	if got != want {
		a.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

// Some waiting jobs are not ahead of any other job: those that are held, begin later, wait for
// other jobs, have reached a bound of their own, or want other GPUs.
func TestJobsThatCannotStartAreNotAhead(t *testing.T) {
	a := newAsker(t, 2, func(p *site.Policy) { p.Quotas.Default = job.Quota{Running: 1} })
	first := a.submit("ann", whole(1))
	a.submit("bob", job.Request{GPUMilli: 1000, GPUIDs: []int{1}})
	a.submit("bob", whole(1), func(s *job.Submission) { s.Request.Hold = true })
	a.submit("bob", whole(1), func(s *job.Submission) { s.Request.Begin = a.now.Add(time.Hour) })
	a.submit("bob", whole(1), func(s *job.Submission) { s.Request.After = []job.Dependency{{Job: first, Kind: job.AfterOK}} })
	a.submit("bob", whole(1))
	a.submit("cat", job.Request{GPUMilli: 1000, GPUIDs: []int{1}})
	a.submit("zed", job.Request{MemBytes: gib})
	last := a.submit("dan", job.Request{GPUMilli: 1000, GPUIDs: []int{0}})
	a.want("in front of the last", a.printAhead(last), "")
	also := a.submit("eve", whole(1))
	a.want("in front of one that takes any", a.printAhead(also), "7 it has waited 3m longer; GPUs are kept for it, 9 it has waited 1m longer")
	if _, waits := a.core.Explained(first, a.now); waits {
		t.Error("a running job is said to wait")
	}
	if e, waits := a.core.Explained(99, a.now); waits || len(e.Ahead) > 0 {
		t.Error("a job that is not there is said to wait")
	}
}

// A job is ahead because of its class, number, share, wait or length. The planner compares jobs in
// this order.
func TestAheadByTheOrder(t *testing.T) {
	a := newAsker(t, 1, func(p *site.Policy) {
		p.Predict = func(id job.ID) time.Duration { return time.Duration(id) * time.Hour }
	})
	a.submit("ann", whole(1))
	a.waitAndSample(12 * time.Hour)
	for range 2 {
		a.submit("ann", whole(1))
	}
	a.submit("bob", whole(1), func(s *job.Submission) { s.Request.Priority.Class = job.High })
	a.submit("bob", whole(1), func(s *job.Submission) { s.Request.Priority.Number = 7 })
	a.submit("bob", whole(1))
	own := a.submit("ann", whole(1))
	a.waitAndSample(2 * time.Hour)
	a.want("in order", a.printAhead(own), "4 its class is high, job 7's is normal; GPUs are kept for it, 5 its priority is 7, job 7's is 0, "+
		"2 it is shorter (counts as 2h17m, job 7 as 9h6m), "+
		"6 bob has had nearly nothing lately, job 7's user 1.9 times a fair share, 3 it is shorter (counts as 4h33m, job 7 as 9h6m)")
	for range 20 {
		own = a.submit("ann", whole(1))
	}
	if e, _ := a.core.Explained(own, a.now); len(e.Ahead) != 10 || e.More < 10 {
		t.Errorf("%d are named and %d more", len(e.Ahead), e.More)
	}
}

// Sooner lists exactly the changes with which the planner's own forecast starts a job sooner.
func TestSooner(t *testing.T) {
	a := newAsker(t, 4, nil)
	limit := func(d time.Duration) func(*job.Submission) {
		return func(s *job.Submission) { s.Request.TimeLimit = job.Span(d) }
	}
	a.policy.Predict = func(id job.ID) time.Duration { return time.Duration(id) * time.Hour }
	a.revive()
	a.step(a.listed(), -1)
	a.step(a.sample(0), -1)
	a.submit("ann", whole(1)) // ends after 1 h
	a.submit("ann", whole(2)) // ends after 2 h
	wide := a.submit("bob", whole(4))
	a.want("a wide job", a.printSooner(wide), "--gpus 1 +0s, --gpus 2 +57m0s of 4")
	// A job behind the one with the backfill reservation must end before the reserved start.
	long := a.submit("cat", whole(1), limit(12*time.Hour))
	a.want("behind one for which GPUs are kept", a.printSooner(long), "--time 1h57m +0s, --preemptible +0s of 3")
	b := newAsker(t, 2, nil)
	runs := b.submit("ann", whole(1))
	named := b.submit("dan", job.Request{GPUMilli: 1000, GPUIDs: []int{0}, TimeLimit: job.Span(time.Hour)})
	b.want("one that names its GPU", b.printSooner(named), "without --gpu-ids +0s of 3")
	b.want("one that runs", b.printSooner(runs), "nothing to try")
}

// A change that a quota or a rule of the site refuses is not offered.
func TestSoonerIsAllowed(t *testing.T) {
	for want, least := range map[string]int{"--gpus 0.5 +0s of 3": 1, " of 2": 501} {
		a := newAsker(t, 1, nil)
		a.submit("ann", job.Request{GPUMilli: 400, GPUMemBytes: 8 * gib, MemBytes: gib})
		a.policy.SmallestPart = least
		a.core.Step(core.Configured{Policy: a.policy}, a.now)
		id := a.submit("bob", job.Request{GPUMilli: 1000, GPUMemBytes: 8 * gib, MemBytes: 2 * gib})
		a.want("a whole GPU beside a part", a.printSooner(id), want)
	}
	// In quotas, half of a GPU with all of its memory counts as a whole GPU.
	a := newAsker(t, 2, func(p *site.Policy) { p.Quotas.Default = job.Quota{GPUMilli: 1000} })
	a.submit("ann", whole(1))
	id := a.submit("ann", whole(1))
	a.want("at a quota", a.printSooner(id), " of 3")
}

// With a time limit, a job can start before a reservation.
func TestSoonerThanReserved(t *testing.T) {
	a := newAsker(t, 1, nil)
	res := job.Reservation{GPUs: []job.Allocation{{}}, From: a.now.Add(3 * time.Hour), To: a.now.Add(9 * time.Hour), Users: []job.Account{{UID: 9, User: "dora"}}}
	a.core.Step(core.Command{Token: 1, Who: job.Actor{Admin: true}, What: job.Command{Kind: job.CommandReserve, Reservation: &res}}, a.now)
	id := a.submit("bob", whole(1))
	a.want("without a limit", a.printSooner(id), "--time 2h59m +0s of 3")
}

// A change of an array is tried for all its tasks together.
func TestSoonerOfArrays(t *testing.T) {
	a := newAsker(t, 2, nil)
	a.submit("ann", whole(1))
	id := a.submit("bob", whole(2), func(s *job.Submission) {
		s.Request.Array = &job.Array{Ranges: []job.Range{{First: 0, Last: 3, Step: 1}}}
	})
	a.want("an array", a.printSooner(id), "--gpus 1 +0s of 3")
}

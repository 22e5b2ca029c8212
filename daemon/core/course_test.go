package core_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// printCourse describes the expected use of the GPUs, such as "0 running 1 alice 0..60m/60m": the
// GPU, the kind of use, the job, its user, and times that count from now. An unknown time is "?".
func (w *world) printCourse() string {
	f := w.core.Prospect(w.now)
	if other := w.core.Prospect(w.now); !w.closed() && other != f {
		w.faults = append(w.faults, "a course is made anew though nothing has changed")
	}
	c := f.CourseWhile(func() bool { return true })
	if again := f.CourseWhile(func() bool { return false }); again != c {
		w.faults = append(w.faults, "what is known is made anew")
	}
	after := func(at time.Time) string {
		if at.IsZero() {
			return "?"
		}
		return at.Sub(w.now).Truncate(time.Second).String()
	}
	var list []string
	for _, g := range c.GPUs {
		for _, s := range g.Stays {
			list = append(list, fmt.Sprintf("%d %s %s %s %s..%s/%s", g.Index, s.Kind, s.Called, s.User, after(s.From), after(s.Until), after(s.Late)))
		}
	}
	return fmt.Sprintf("%s; %d wait", strings.Join(list, ", "), c.Waiting)
}

func (w *world) closed() bool { return w.core.Foresee(w.now) == nil }

// A course uses the names that people use for jobs. It also has the
// reservations of GPUs.
func TestCourse(t *testing.T) {
	w := newWorld(2, func(string, ...any) {})
	w.policy.Predict = func(job.ID) time.Duration { return 30 * time.Minute }
	w.revive()
	w.step(w.listed(), -1)
	w.step(w.sample(0), -1)
	submit := func(user string, array *job.Array, gpus int) {
		s := job.Submission{Owner: job.Owner{UID: len(user), User: user}, Label: job.Label{Name: "j"}, Request: job.Request{GPUMilli: gpus * 1000, Array: array}}
		if r := w.core.Step(core.Submit{Token: 1, Submission: s}, w.now).Replies[0]; r.Refusal != nil {
			t.Fatal(r.Refusal)
		}
		w.settle()
	}
	submit("alice", nil, 1)
	submit("bob", &job.Array{Ranges: []job.Range{{First: 3, Last: 5, Step: 1}}}, 1)
	submit("carol", nil, 2)
	expect := func(what, want string) {
		t.Helper()
		if got := w.printCourse(); got != want {
			t.Errorf("%s:\n got %s\nwant %s", what, got, want)
		}
	}
	expect("jobs", "0 running 1 alice 0s..30m0s/30m0s, 0 planned 2 bob 30m0s..1h0m0s/1h0m0s, 0 planned 4 carol 1h0m0s..1h30m0s/1h30m0s, "+
		"1 running 2_3 bob 0s..30m0s/30m0s, 1 planned 2 bob 30m0s..1h0m0s/1h0m0s, 1 planned 4 carol 1h0m0s..1h30m0s/1h30m0s; 2 wait")
	admin := job.Actor{User: "root", Admin: true}
	do := func(c job.Command) {
		t.Helper()
		if r := w.core.Step(core.Command{Token: 1, Who: admin, What: c}, w.now).Replies[0]; r.Refusal != nil {
			t.Fatal(r.Refusal)
		}
	}
	res := job.Reservation{GPUs: []job.Allocation{{}}, From: w.now.Add(2 * time.Hour), To: w.now.Add(3 * time.Hour), Users: []job.Account{{UID: 9, User: "dora"}}}
	do(job.Command{Kind: job.CommandReserve, Reservation: &res})
	do(job.Command{Kind: job.CommandPauseGPU, GPU: 1, Until: w.now.Add(45 * time.Minute)})
	// No job has a limit, so none starts before the reservation of its GPU.
	expect("an administrator's wishes", "0 running 1 alice 0s..30m0s/30m0s, 0 reserved   2h0m0s..3h0m0s/3h0m0s, 0 planned 4 carol 3h0m0s..3h30m0s/3h30m0s, "+
		"1 drained   0s..45m0s/45m0s, 1 running 2_3 bob 0s..30m0s/30m0s, 1 planned 2 bob 45m0s..1h15m0s/1h15m0s, 1 planned 2 bob 1h15m0s..1h45m0s/1h45m0s, 1 planned 4 carol 3h0m0s..3h30m0s/3h30m0s; 2 wait")
	do(job.Command{Kind: job.CommandDrain})
	expect("while no job starts", "0 drained   0s..?/?, 0 running 1 alice 0s..30m0s/30m0s, 0 reserved   2h0m0s..3h0m0s/3h0m0s, "+
		"1 drained   0s..?/?, 1 running 2_3 bob 0s..30m0s/30m0s; 2 wait")
	if len(w.faults) > 0 {
		t.Error(w.faults)
	}
}

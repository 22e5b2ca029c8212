package core_test

import (
	"slices"
	"testing"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// A listing of a long queue may show only the first jobs. It then says how many jobs it left out.
func TestViewOfTheFirstWaitingJobs(t *testing.T) {
	w := newWorld(1, func(string, ...any) {})
	for range 5 {
		s := job.Submission{Owner: job.Owner{UID: 1001, User: "alice"}, Label: job.Label{Name: "j"}, Request: job.Request{GPUMilli: 1000}}
		w.core.Step(core.Submit{Submission: s}, w.now)
	}
	held := job.Submission{Owner: job.Owner{UID: 1002, User: "bob"}, Label: job.Label{Name: "j"}, Request: job.Request{Hold: true}}
	w.core.Step(core.Submit{Submission: held}, w.now)
	bobs := 1002
	if v := w.core.View(job.Query{Waiting: 1, UID: &bobs}, w.now); len(v.Jobs) != 1 || v.Jobs[0].ID != 6 || v.Omitted != 0 {
		t.Errorf("bob's first: %+v, %d left out", v.Jobs, v.Omitted)
	}
	for name, q := range map[string]job.Query{"array": {Array: 9}, "name": {Choice: job.Choice{Name: "k"}}, "state": {Choice: job.Choice{States: []job.State{job.Running}}}} {
		q.Waiting = 1
		if v := w.core.View(q, w.now); len(v.Jobs) != 0 || v.Omitted != 0 {
			t.Errorf("the first of another %s: %+v, %d left out", name, v.Jobs, v.Omitted)
		}
	}
	for most, want := range map[int]int{0: 6, 2: 2, 5: 5, 9: 6} {
		v := w.core.View(job.Query{Waiting: most}, w.now)
		if len(v.Jobs) != want || v.Omitted != 6-want || v.Jobs[0].ID != 1 {
			t.Errorf("of at most %d that wait %d are shown, %d left out", most, len(v.Jobs), v.Omitted)
		}
	}
}

// To delay nobody, a listing of a very long queue explains only the first jobs.
func TestViewExplainsOnlyTheFirstJobs(t *testing.T) {
	w := newWorld(1, func(string, ...any) {})
	for range 1200 {
		s := job.Submission{Owner: job.Owner{UID: 1001, User: "alice"}, Label: job.Label{Name: "j"}, Request: job.Request{GPUMilli: 1000}}
		w.core.Step(core.Submit{Submission: s}, w.now)
	}
	explained := 0
	for _, v := range w.core.View(job.Query{Reasons: true}, w.now).Jobs {
		if len(v.Reasons) > 0 {
			explained++
		}
	}
	if explained != 1000 {
		t.Errorf("%d of 1200 are explained", explained)
	}
	last := w.core.View(job.Query{Reasons: true, IDs: []job.ID{1200}}, w.now).Jobs
	if len(last) != 1 || len(last[0].Reasons) == 0 {
		t.Errorf("a job that is named: %+v", last)
	}
}

// A held job is explained no matter how many jobs wait before it, since this reason is cheap to
// find.
func TestViewExplainsHeldJobs(t *testing.T) {
	w := newWorld(1, func(string, ...any) {})
	w.step(w.listed(), -1)
	for i := range 1003 {
		s := job.Submission{Owner: job.Owner{UID: 1001, User: "alice"}, Label: job.Label{Name: "j"}, Request: job.Request{GPUMilli: 1000, Hold: i < 2}}
		w.core.Step(core.Submit{Submission: s}, w.now)
	}
	v := w.core.View(job.Query{Reasons: true}, w.now).Jobs
	for _, held := range v[len(v)-2:] {
		if len(held.Reasons) != 1 || held.Reasons[0].Code != job.ReasonHeld {
			t.Errorf("job %d: %+v", held.ID, held.Reasons)
		}
	}
	if last := v[len(v)-3]; len(last.Reasons) != 0 {
		t.Errorf("number 1001 of the queue is explained: %+v", last.Reasons)
	}
}

// Names returns the jobs that View shows, in the same order, whether or not they are in the queue.
func TestNamesMatchTheView(t *testing.T) {
	w := newWorld(2, func(string, ...any) {})
	w.step(w.listed(), -1)
	w.step(w.sample(0), -1)
	same := func(when string) {
		t.Helper()
		for _, q := range []job.Query{{}, {Waiting: 2}, {UID: new(1001)}, {Choice: job.Choice{States: []job.State{job.Queued}}}, {Array: 4}} {
			var want []job.Name
			for _, v := range w.core.View(q, w.now).Jobs {
				want = append(want, job.Name{ID: v.ID, Task: v.Task, UID: v.Owner.UID})
			}
			if got := w.core.Names(q, w.now); !slices.Equal(got, want) {
				t.Errorf("%s, %+v: %v, want %v", when, q, got, want)
			}
		}
	}
	for i := range 6 {
		w.step(core.Submit{Submission: nth(i)}, -1)
	}
	same("all are in the queue or have GPUs")
	array := nth(3)
	array.Request.GPUMilli, array.Request.Array = 500, &job.Array{Ranges: []job.Range{{First: 0, Last: 9, Step: 1}}}
	w.step(core.Submit{Submission: array}, -1)
	held := nth(7)
	held.Request.Hold = true
	w.step(core.Submit{Submission: held}, -1)
	w.settle()
	same("one is held, one is an array")
}

package core_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// A census counts by state and class, knows when the longest waiting job began to wait, and names
// only the given number of users.
func TestCensus(t *testing.T) {
	w := newWorld(2, func(string, ...any) {})
	submit := func(uid int, user string, r job.Request) {
		s := job.Submission{Owner: job.Owner{UID: uid, User: user}, Label: job.Label{Name: "j"}, Request: r}
		w.step(core.Submit{Submission: s}, -1)
		w.step(w.sample(0), -1)
		w.settle()
	}
	w.step(w.listed(), -1)
	submit(1001, "alice", job.Request{GPUMilli: 1500})
	since := w.now
	submit(1002, "bob", job.Request{GPUMilli: 2000, Priority: job.Priority{Class: job.Low}})
	w.now = w.now.Add(time.Minute)
	submit(1002, "bob", job.Request{GPUMilli: 2000})
	submit(1003, "carol", job.Request{GPUMilli: 1000, Hold: true})
	got := w.core.Census(1)
	state := w.core.View(job.Query{IDs: []job.ID{1}}, w.now).Jobs[0].State
	want := job.Census{
		Jobs: map[job.CensusKey]int{
			{State: state}: 1, {State: job.Queued, Class: job.Low}: 1, {State: job.Queued}: 2,
		},
		Held: 1, Oldest: since,
		Users: []job.UserCensus{{Name: "alice", Active: 1, Milli: 1500}, {Name: job.OtherUsers, Queued: 3}},
	}
	if !state.Live() || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if list := w.core.Census(0).Users; len(list) != 0 {
		t.Errorf("nobody is to be named, and %v are", list)
	}
	if list := w.core.Census(3).Users; len(list) != 3 || list[1].Name != "bob" || list[1].Queued != 2 {
		t.Errorf("all are to be named, and %v are", list)
	}
}

package events

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// shortForm returns a short form of the events of a record.
func shortForm(b *Book, r job.Record) string {
	var list []string
	for _, e := range b.Record(&r, noon) {
		text := string(e.Kind)
		if e.State != "" {
			text += "=" + string(e.State)
		}
		if e.Attempt > 0 {
			text += fmt.Sprint("#", e.Attempt)
		}
		if e.By != "" {
			text += " by " + e.By
		}
		if !e.At.Equal(noon) {
			text += " at another time"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// jobIn returns a record of job 7 with this state and attempt.
func jobIn(state job.State, attempt int, change ...func(*job.Job)) job.Record {
	j := &job.Job{ID: 7, Owner: job.Owner{UID: 1001, User: "alice"}, State: state}
	if attempt > 0 {
		j.Attempt = &job.Attempt{Number: attempt}
	}
	for _, f := range change {
		f(j)
	}
	return job.Record{Job: j}
}

// Every step of a job's life is announced, even steps between two records.
func TestLifeOfAJob(t *testing.T) {
	held := func(j *job.Job) { j.Held = "root" }
	suspended := func(j *job.Job) { j.SuspendedAt, j.SuspendedBy = noon, "bob" }
	park := func(p job.ParkState) func(*job.Job) {
		return func(j *job.Job) { suspended(j); j.Park = p }
	}
	changed := jobIn(job.Queued, 0)
	changed.Updated = &job.Update{}
	b := NewBook(&job.Restored{})
	for _, step := range []struct {
		record job.Record
		want   string
	}{
		{jobIn(job.Queued, 0), "job-queued=queued"},
		{jobIn(job.Queued, 0), ""},
		{jobIn(job.Queued, 0, held), "job-held=queued by root"},
		{jobIn(job.Queued, 0), "job-released=queued"},
		{changed, "job-updated=queued"},
		{jobIn(job.Starting, 1), "job-placed=starting#1"},
		{jobIn(job.Running, 1), "job-started=running#1"},
		{jobIn(job.Running, 1, suspended), "job-suspended=running#1 by bob"},
		{jobIn(job.Running, 1), "job-resumed=running#1"},
		{jobIn(job.Running, 1, park(job.ParkTakes)), ""},
		{jobIn(job.Running, 1), ""}, // the driver could not park it
		{jobIn(job.Running, 1, park(job.ParkTakes)), ""},
		{jobIn(job.Running, 1, park(job.IsParked)), "job-parked=running#1 by bob"},
		{jobIn(job.Running, 1, park(job.ParkGives)), ""},
		{jobIn(job.Running, 1), "job-unparked=running#1"},
		{jobIn(job.Ending, 1, func(j *job.Job) { j.Stop, j.StopBy = job.StopRequeue, "alice" }), "job-ending=ending#1 by alice"},
		{jobIn(job.Queued, 1), "job-requeued=queued#1"},
		{jobIn(job.Queued, 2), "job-placed=starting#2, job-requeued=queued#2"}, // both happen in one step
		{jobIn(job.Running, 3), "job-started=running#3"},
		{jobIn(job.Starting, 4), "job-requeued=queued#4, job-placed=starting#4"},
		{jobIn(job.Failed, 4, func(j *job.Job) { j.Result = &job.Result{Outcome: job.Failed} }), "job-ended=failed#4"},
	} {
		if got := shortForm(b, step.record); got != step.want {
			t.Errorf("%s in attempt %v: %q, want %q", step.record.Job.State, step.record.Job.Attempt, got, step.want)
		}
	}
	if len(b.jobs) != 0 {
		t.Errorf("the book keeps jobs that have ended: %v", b.jobs)
	}
}

func TestAJobThatStartsAtOnce(t *testing.T) {
	b := NewBook(&job.Restored{})
	if got := shortForm(b, jobIn(job.Starting, 1)); got != "job-queued=queued, job-placed=starting#1" {
		t.Error(got)
	}
	b = NewBook(&job.Restored{})
	if got := shortForm(b, jobIn(job.Queued, 0, func(j *job.Job) { j.Held = "alice" })); got != "job-queued=queued by alice" {
		t.Error(got)
	}
}

// Records that existed when the daemon started cause no events.
func TestRestoredRecordsCauseNoEvents(t *testing.T) {
	running := jobIn(job.Running, 1)
	drained := job.GPUControl{UUID: job.EveryGPU, Paused: true, By: "root"}
	b := NewBook(&job.Restored{Jobs: []job.Job{*running.Job}, GPUs: []job.GPUControl{drained}})
	for _, r := range []job.Record{running, {GPU: &drained}, {Usage: &job.Usage{}}, {Events: 9}} {
		if got := shortForm(b, r); got != "" {
			t.Errorf("%+v: %s", r, got)
		}
	}
	if got := shortForm(b, job.Record{GPU: &job.GPUControl{UUID: job.EveryGPU, By: "root"}}); got != "drain by root" {
		t.Error(got)
	}
}

func TestFaultsAndReservations(t *testing.T) {
	b := NewBook(&job.Restored{})
	b.News(job.Event{Kind: job.EventGPU, GPU: &job.GPUNews{Index: 3, UUID: "GPU-a"}}, noon)
	sick := job.Record{GPU: &job.GPUControl{UUID: "GPU-a", Fault: job.GPUFault{Recovery: "reset", What: job.Text("Xid 79"), Job: 7}}}
	list := b.Record(&sick, noon)
	if len(list) != 1 || list[0].Kind != job.EventFault || list[0].GPU.Index != 3 || list[0].Job != 7 || list[0].Why.Text != "Xid 79" {
		t.Errorf("%+v", list)
	}
	left := job.Record{GPU: &job.GPUControl{UUID: "GPU-b", Fault: job.GPUFault{Left: job.GPULeft{What: job.Text("memory")}}}}
	for _, step := range []struct {
		record job.Record
		want   string
	}{
		{sick, ""}, {job.Record{GPU: &job.GPUControl{UUID: "GPU-a"}}, ""}, {sick, "gpu-fault"}, {left, "gpu-fault"},
		{job.Record{Reservation: &job.Reservation{ID: 2, By: "root"}}, "reservation by root"},
		{job.Record{Unreserve: 2}, "reservation"},
	} {
		if got := shortForm(b, step.record); got != step.want {
			t.Errorf("%+v: %q, want %q", step.record, got, step.want)
		}
	}
}

// Numbers increase by one, and a ring keeps a bounded number of events (invariants 2 and 3).
func TestRing(t *testing.T) {
	r := NewRing(3, 100)
	for n := range int64(20) {
		r.Add([]job.Event{{Number: 101 + n}})
		if len(r.list) > 2*r.most {
			t.Fatalf("%d are kept", len(r.list))
		}
	}
	for _, tt := range []struct {
		after int64
		most  int
		want  string
	}{
		{117, 9, "[118 119 120] last 120"}, {117, 2, "[118 119] last 119"}, {119, 9, "[120] last 120"},
		{120, 9, "[] last 120"}, {116, 9, "[] last 120 gap"}, {0, 9, "[] last 120 gap"}, {121, 9, "[] last 120 gap"},
	} {
		out := r.After(tt.after, tt.most)
		numbers := []int64{}
		for _, e := range out.List {
			numbers = append(numbers, e.Number)
		}
		got := fmt.Sprint(numbers, " last ", out.Last)
		if out.Gap {
			got += " gap"
		}
		if got != tt.want || out.Oldest != 117 || out.Newest != 120 {
			t.Errorf("after %d: %s of %d to %d, want %s", tt.after, got, out.Oldest, out.Newest, tt.want)
		}
	}
	if out := NewRing(3, 9).After(9, 1); out.Gap || out.Oldest != 9 || out.Newest != 9 {
		t.Errorf("for an empty ring: %+v", out)
	}
}

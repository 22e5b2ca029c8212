package daemon

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// A log line about a job has the cause of its state.
func TestJobFieldsTellTheCause(t *testing.T) {
	at := &job.Attempt{Number: 2}
	back := &job.Attempt{Number: 2, Result: &job.Result{Outcome: job.Cancelled, Cause: job.StopRequeue, By: "bob"}}
	for want, j := range map[string]job.Job{
		"[job 7 state queued uid 1 user ada]":                                                            {State: job.Queued},
		"[job 7 state running uid 1 user ada attempt 2 gpu -]":                                           {State: job.Running, Attempt: at},
		"[job 7 state ending uid 1 user ada attempt 2 gpu - stop preempt]":                               {State: job.Ending, Attempt: at, Life: job.Life{StopOrder: job.StopOrder{Stop: job.StopPreempt}}},
		"[job 7 state ending uid 1 user ada attempt 2 gpu - stop cancel by root]":                        {State: job.Ending, Attempt: at, Life: job.Life{StopOrder: job.StopOrder{Stop: job.StopCancel, StopBy: "root"}}},
		"[job 7 state queued uid 1 user ada held_by root]":                                               {State: job.Queued, Life: job.Life{Held: "root"}},
		"[job 7 state queued uid 1 user ada attempt 2 gpu - result sent back to the queue by bob]":       {State: job.Queued, Attempt: back},
		"[job 7 state cancelled uid 1 user ada task 3_1 attempt 2 gpu - result cancelled by bob by bob]": {State: job.Cancelled, Attempt: back, Life: job.Life{Task: &job.Task{Array: 3, Index: 1}}, Result: &job.Result{Outcome: job.Cancelled, By: "bob"}},
	} {
		j.ID, j.Owner.UID, j.Owner.User = 7, 1, "ada"
		if got := fmt.Sprint(jobFields(&j)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Each break of a GPU is logged once, and so is its repair. Other states are not: they are orders,
// which have lines of their own, or come and go with other people's programs.
func TestBrokenGPUsAreLogged(t *testing.T) {
	var out strings.Builder
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	b := brokenGPUs{}
	for _, state := range []job.GPUState{"", job.GPUPaused, job.GPULost, job.GPULost, job.GPUSick, "", "", job.GPUUnknown, job.GPUPaused} {
		b.log(log, []job.Event{{Kind: job.EventSettings}, {Kind: job.EventGPU, GPU: &job.GPUNews{Index: 1, UUID: "u", InService: state == "", State: state}}})
	}
	const want = `level=ERROR msg="gpu is lost" gpu=1 gpu_uuid=u
level=INFO msg="gpu is in service" gpu=1 gpu_uuid=u
level=ERROR msg="gpu is unknown" gpu=1 gpu_uuid=u
level=INFO msg="gpu is paused" gpu=1 gpu_uuid=u
`
	if out.String() != want {
		t.Errorf("logged:\n%s", &out)
	}
}

// The log line of a new job has its request, and the line of an update has the old and new values.
// Neither line has anything private.
func TestWhatIsAskedIsLogged(t *testing.T) {
	j := job.Job{ID: 7, State: job.Queued, Owner: job.Owner{UID: 1, User: "ada"}, Label: job.Label{Name: "train", Tags: map[string]string{"b": "2", "a": "1"}},
		Request: job.Request{
			GPUMilli: 1500, GPUMemBytes: 20 << 30, MemBytes: 1 << 30, TimeLimit: job.Span(2 * time.Hour), Priority: job.Priority{Class: job.High}, MaxUsedPercent: 30,
			GPUsFrom: []int{0, 1, 3}, CPUs: 4, Preemptible: true, Begin: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
			After: []job.Dependency{{Kind: job.AfterOK, Job: 3}, {Kind: job.AfterStart, Job: 4}, {Kind: job.AfterOK, Job: 5}},
			Array: &job.Array{Ranges: []job.Range{{First: 0, Last: 9, Step: 1}}, Limit: 2, Params: []job.Param{{Name: "key", Values: []string{"secret"}}}},
			Dedup: "secret", WarnSignal: 10, WarnBefore: job.Span(time.Minute),
			Derived: job.Derived{Shape: "secret", Script: "secret"},
		}}
	payload := &job.Payload{Program: contract.Program{Argv: []string{"secret"}, Env: []string{"K=secret"}, Dir: "/secret"}}
	before := job.Asked(&j.Label, &j.Request)
	if what, fields := jobLine(job.Record{Job: &j, Payload: payload}); what != "job queued" || fmt.Sprint(fields) != "[job 7 state queued uid 1 user ada "+
		"name train gpus 1.5 gpu-mem 20G gpus-from 0,1,3 mem 1G cpus 4 time 2h priority high max-used 30% preemptible true begin 2026-03-01T12:00:00Z "+
		"array 0-9%2 after 4 after-ok 3,5 tags a=1,b=2 signal USR1@1m]" {
		t.Errorf("%s %v", what, fields)
	}
	j.Request.TimeLimit, j.Request.GPUMilli = 0, 0
	j.Request.Retries, j.Request.After = 3, nil
	changed := &job.Update{By: "bob", Edits: job.Edits(before, job.Asked(&j.Label, &j.Request))}
	if what, fields := jobLine(job.Record{Job: &j, Updated: changed}); what != "job updated" || fmt.Sprint(fields) != "[job 7 state queued uid 1 user ada by bob "+
		"gpus 0 gpus-before 1.5 retries 3 retries-before none time none time-before 2h after none after-before 4 after-ok none after-ok-before 3,5]" {
		t.Errorf("%s %v", what, fields)
	}
	// Values in the line must be short: a user can change a job many times per second.
	long := &job.Update{By: "bob", Edits: []job.Edit{{Name: "comment", Before: strings.Repeat("ä", 500), Now: strings.Repeat("b", 1000)}}}
	if _, fields := jobLine(job.Record{Job: &j, Updated: long}); len(fmt.Sprint(fields)) > 2*mostLogged+100 || !strings.Contains(fmt.Sprint(fields), "bbb… comment-before äää") {
		t.Errorf("%d bytes: %v", len(fmt.Sprint(fields)), fields)
	}
	if what, fields := jobLine(job.Record{Job: &j}); what != "job queued" || len(fields) != 8 {
		t.Errorf("what is neither new nor changed: %s %v", what, fields)
	}
}

package words

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// If a sentence names a job of another machine, that machine's name comes before the job. Text that
// somebody typed is not changed.
func TestJobsOfAnotherMachineAreNamedWithIt(t *testing.T) {
	a := Reader{Host: "a"}
	busy := func(gpu int, id job.ID, more ...job.ID) job.Reason {
		return job.Reason{Code: job.ReasonGPUBusy, GPU: gpu, Job: id, Others: more, Have: int64(1 + len(more))}
	}
	for want, list := range map[string][]job.Reason{
		"GPUs 0,1 are held by jobs a:1,a:2":                       {busy(0, 1), busy(1, 2)},
		"GPU 0 is held by jobs a:1 and a:2":                       {busy(0, 1, 2)},
		"GPU 3 is kept for job a:7_3, which is ahead of this one": {{Code: job.ReasonGPUKept, GPU: 3, Job: 9, Names: []string{"7_3"}}},
		"GPU 1 is being checked after an earlier job":             {{Code: job.ReasonGPUCleaning, GPU: 1}},
		"no new job starts: since job 12 crashed":                 {{Code: job.ReasonDrained, GPU: job.NoGPU, Detail: job.Text("since job 12 crashed")}},
	} {
		if got := a.Why(list); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	stopped := job.Result{Outcome: job.Cancelled, Cause: job.StopPreempt, For: 12}
	if got := a.Result(&stopped); got != "stopped to make room for job a:12, and queued again" || stopped.ForName != "" {
		t.Errorf("%q, %+v", got, stopped)
	}
}

// A message has the same sentence after it was sent as JSON, whatever its arguments are.
func TestMessagesReadTheSameAfterJSON(t *testing.T) {
	at := time.Date(2026, 3, 1, 21, 0, 0, 0, time.UTC)
	read := Reader{Moment: func(t time.Time) string { return t.Format(time.Kitchen) }}
	for want, m := range map[string]job.Message{
		"not so: 9:00PM":              job.Say("detail/check-gpu", "not so", job.Say("detail/at", at)),
		"policy: 1h":                  job.Say("detail/check-gpu", "policy", time.Hour),
		"reserved for ann, group lab": job.Say("detail/reserved-for", job.People{Users: []string{"ann"}, Groups: []string{"lab"}}),
		"GPU 1 is reserved (for ann from 9:00PM to 9:00PM)": job.Say("detail/gpu-is", 1, job.Reason{Code: job.ReasonGPUReserved, Detail: job.Say("detail/reservation", job.People{Users: []string{"ann"}}, at, at)}),
		"bob's jobs hold 0.5":                               job.Say("detail/has-most", "bob", job.GPUs(500)),
		"(alice) has 2 CPUs of 4 CPUs left":                 job.Say("detail/quota-left", "(alice)", job.CPUs(2), job.CPUs(4)),
	} {
		text, err := json.Marshal(m)
		var sent job.Message
		if err == nil {
			err = json.Unmarshal(text, &sent)
		}
		if got := read.Say(sent); err != nil || got != want || read.Say(m) != want {
			t.Errorf("%s reads %q, and %q here, want %q (%v)", text, got, read.Say(m), want, err)
		}
	}
	refusal := Spelled(job.Say("usage/dependency", []job.DependencyKind{job.AfterOK, job.AfterAny}))
	text, err := json.Marshal(refusal)
	var sent job.Message
	if err != nil || json.Unmarshal(text, &sent) != nil || Say(sent) != "a dependency must name a job and be one of --after-ok, --after-any" {
		t.Errorf("%s reads %q, %v", text, Say(sent), err)
	}
}

func TestHowBesideTheState(t *testing.T) {
	left := job.Say("detail/left-one")
	for _, c := range []struct {
		r           job.Result
		how, ending string
	}{
		{job.Result{Outcome: job.Completed}, "", "exit code 0"},
		{job.Result{Outcome: job.Completed, Left: left}, "exit code 0; " + Say(left), "exit code 0; " + Say(left)},
		{job.Result{Outcome: job.Failed, ExitCode: 3}, "exit code 3", "exit code 3"},
		{job.Result{Outcome: job.Failed, Signal: 9}, "killed by signal 9 (KILL)", "killed by signal 9 (KILL)"},
		{job.Result{Outcome: job.Cancelled, By: "ann"}, "by ann", "cancelled by ann"},
		{job.Result{Outcome: job.Cancelled}, "", "cancelled"},
		{job.Result{Outcome: job.Lost, Detail: job.Say("detail/restarted")}, Say(job.Say("detail/restarted")), Say(job.Say("detail/restarted"))},
	} {
		if how, end := (Reader{}).How(&c.r), (Reader{}).Ending(&c.r); how != c.how || end != c.ending {
			t.Errorf("%q and %q, want %q and %q", how, end, c.how, c.ending)
		}
	}
}

func TestABriefReaderGetsTheFirstReasonAlone(t *testing.T) {
	brief := Reader{Brief: true}
	list := []job.Reason{{Code: job.ReasonGPUCount, GPU: job.NoGPU, Need: 2, Have: 1}, {Code: job.ReasonGPUBusy, GPU: 0, Job: 3}}
	if got := brief.Why(list); got != "needs 2 GPUs, 1 available now" {
		t.Error(got)
	}
	failed := job.Result{Outcome: job.Failed, ExitCode: 3, GPUError: &job.GPUError{GPU: 1, Xid: 79}, Left: job.Say("detail/left-one")}
	if got := brief.Result(&failed); got != "failed: exit code 3" || failed.GPUError == nil {
		t.Error(got)
	}
}

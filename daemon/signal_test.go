package daemon_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/unittest"
)

// A request to signal a job is answered only after systemd has sent the signal. It is refused if
// systemd does not answer or the job's unit is gone.
func TestSignalIsAnsweredWhenSent(t *testing.T) {
	r := newRig(t, 1, nil)
	id := r.submit(0, nil)
	r.runs(id)
	r.waitUntil("the job runs", func() bool { return r.state(id) == job.Running })
	alice := job.Actor{UID: 1001, User: "alice"}
	signal := job.Command{Kind: job.CommandSignal, Job: id, Signal: 10}
	one := func() error { return r.d.Do(t.Context(), alice, signal) }
	many := func() error {
		var told error
		_, err := r.d.DoMany(t.Context(), alice, []job.Command{signal}, func(each []job.Outcome) error {
			if each[0].Refusal != nil {
				told = each[0].Refusal
			}
			return nil
		})
		return errors.Join(err, told)
	}
	refused := func(err error, code job.Code) {
		t.Helper()
		var refusal *job.Refusal
		if !errors.As(err, &refusal) || refusal.Code != code {
			t.Errorf("the answer is %v, want %s", err, code)
		}
	}
	for name, ask := range map[string]func() error{"one": one, "many": many} {
		r.bus.FailNext(unittest.OpKill, unittest.LostCall())
		refused(ask(), "unavailable/signal")
		if !r.bus.Running(units.Name(int64(id))) {
			t.Fatalf("%s: the job has got it", name)
		}
	}
	if err := many(); err != nil {
		t.Error(err)
	}
	if r.bus.Running(units.Name(int64(id))) {
		t.Error("the job has not got it")
	}
	if v := r.wait(id); v.Result.Signal != 10 {
		t.Errorf("the job ended as %+v", v.Result)
	}
}

// A signal to an array is sent once to each running task.
// If systemd does not answer for one task, the command fails.
func TestSignalOfAnArray(t *testing.T) {
	r := newRig(t, 2, nil)
	array := r.submit(1, func(s *job.Submission) {
		s.Request.Array = &job.Array{Ranges: []job.Range{{First: 0, Last: 2, Step: 1}}}
	})
	first, second := array+1, array+2
	for _, id := range []job.ID{first, second} {
		r.waitUntil("the task runs", func() bool { return r.state(id) == job.Running })
	}
	send := func(ids ...job.ID) (told []job.Outcome) {
		list := commands(job.CommandSignal, ids...)
		for i := range list {
			list[i].Signal = 10
		}
		_, err := r.d.DoMany(t.Context(), job.Actor{UID: 1001, User: "alice"}, list, func(each []job.Outcome) error {
			told = append(told, each...)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return told
	}
	r.bus.FailNext(unittest.OpKill, unittest.LostCall())
	if told := send(array); told[0].Refusal == nil || told[0].Refusal.Code != "unavailable/signal" {
		t.Errorf("with one that may not have it: %+v", told)
	}
	for _, o := range send(second, array, first) {
		if o.Refusal != nil {
			t.Errorf("the answer is %v", o.Refusal)
		}
	}
	for _, id := range []job.ID{first, second} {
		if v := r.wait(id); v.Result.Signal != 10 {
			t.Errorf("task %d ended as %+v", id, v.Result)
		}
	}
	r.waitUntil("the last task runs", func() bool { return r.state(array+3) == job.Running })
	r.runs(array + 3)
	if err := r.d.Do(t.Context(), job.Actor{UID: 1001, User: "alice"}, job.Command{Kind: job.CommandSignal, Job: array, Signal: 10}); err != nil {
		t.Error(err)
	}
	if v := r.wait(array); v.Tasks.Failed != 3 {
		t.Errorf("the array ended as %+v, %+v", v.Result, v.Tasks)
	}
}

// A signal for the main process goes only to that process. This applies to a warning, even after a
// restart of the daemon, and to a signal that a request sends. If the main process holds a
// terminal, the signal can't be sent to the job's command alone, and the request is refused.
func TestAimedSignalsAreSent(t *testing.T) {
	r := newRig(t, 1, nil)
	sent := func(id job.ID, want ...int) {
		t.Helper()
		if got := r.bus.Aimed(units.Name(int64(id))); !slices.Equal(got, want) {
			t.Errorf("the main process of job %d got %v, want %v", id, got, want)
		}
	}
	for i, ask := range []job.Request{{}, {WarnMain: true}, {SignalTo: job.SignalMain}} {
		id := r.submit(0, func(s *job.Submission) {
			s.Request.TimeLimit = job.Span(time.Minute + time.Second) // so long that the warning comes only after the restart
			s.Request.WarnSignal, s.Request.WarnBefore = 10, job.Span(time.Minute)
			s.Request.WarnMain, s.Request.SignalTo = ask.WarnMain, ask.SignalTo
		})
		r.waitUntil("the job starts", func() bool { return r.state(id) != job.Queued })
		r.restart()
		if v := r.wait(id); v.Result.Signal != 10 || v.Request.WarnMain != ask.WarnMain || v.Request.SignalTo != ask.SignalTo {
			t.Errorf("the job ended as %+v", v)
		}
		if sent(id, []int{10}[:min(i, 1)]...); r.bus.Running(units.Name(int64(id))) {
			t.Error("it runs on")
		}
	}
	for tty, want := range map[bool]job.Code{false: "", true: "conflict/signal-terminal"} {
		id := r.submit(0, func(s *job.Submission) { s.Payload.TTY = tty })
		r.runs(id)
		r.waitUntil("the job runs", func() bool { return r.state(id) == job.Running })
		err := r.d.Do(t.Context(), job.Actor{UID: 1001, User: "alice"}, job.Command{Kind: job.CommandSignal, Job: id, Signal: 12, Main: true})
		var refusal *job.Refusal
		switch {
		case want == "" && err == nil:
			sent(id, 12)
		case !errors.As(err, &refusal) || refusal.Code != want:
			t.Errorf("with a terminal: %t: %v", tty, err)
		default:
			sent(id)
		}
		_ = r.bus.Kill(t.Context(), units.Name(int64(id)), 9, units.All)
		r.wait(id)
	}
}

// If systemd did not accept a warning signal, it is sent again.
func TestWarningIsSentAgain(t *testing.T) {
	r := newRig(t, 1, nil)
	r.bus.FailNext(unittest.OpKill, unittest.LostCall())
	id := r.submit(0, func(s *job.Submission) {
		s.Request.TimeLimit = job.Span(time.Minute + 10*time.Millisecond)
		s.Request.WarnSignal, s.Request.WarnBefore = 10, job.Span(time.Minute)
	})
	if v := r.wait(id); v.Result.Signal != 10 {
		t.Errorf("the job ended as %+v", v.Result)
	}
}

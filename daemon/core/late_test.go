package core

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// systemd took too long to start a unit, and a restarted daemon finds out. Nothing was executed, so
// the job is tried again. It does not count as stopped at its time limit.
func TestStartTimeoutIsTriedAgain(t *testing.T) {
	j := &job.Job{Request: job.Request{TimeLimit: job.Span(time.Hour)}}
	if r := resultOf(contract.Exit{Signal: 15, Launch: contract.StepUnit}, j, 2); r.Outcome != job.Lost || r.Tries != 3 || r.Limit != 0 {
		t.Errorf("a start that took too long: %+v", r)
	}
	if r := resultOf(contract.Exit{Stopped: true, Signal: 9}, j, 2); r.Outcome != job.Lost || r.Tries != 0 || r.Limit != 0 {
		t.Errorf("a command that took too long to stop: %+v", r)
	}
}

package core

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// A unit that systemd was too long in starting, found by a daemon that was started
// anew meanwhile, has executed nothing: its job is tried again, and its own limit of
// time has nothing to do with it.
func TestStartTimeoutIsTriedAgain(t *testing.T) {
	j := &job.Job{Request: job.Request{TimeLimit: job.Span(time.Hour)}}
	if r := resultOf(contract.Exit{Signal: 15, Launch: contract.StepUnit}, j, 2); r.Outcome != job.Lost || r.Tries != 3 || r.Limit != 0 {
		t.Errorf("a start that took too long: %+v", r)
	}
	if r := resultOf(contract.Exit{Stopped: true, Signal: 9}, j, 2); r.Outcome != job.Lost || r.Tries != 0 || r.Limit != 0 {
		t.Errorf("a command that took too long to stop: %+v", r)
	}
}

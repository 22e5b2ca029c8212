package feed

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// An array is requested again as one array with its own task numbers. If a task has started, the
// request is refused.
func TestAnArrayMovesAsAWhole(t *testing.T) {
	j := api.Job{ID: 9, UID: 1001, State: job.Queued, Array: &api.Array{Spec: "0-3,7%2", Size: 5, Limit: 2}, Private: &api.Private{}}
	j.Private.Argv = api.Words{"true"}
	a := &cli.App{Env: cli.Env{UID: 1001}}
	req, err := onceMore(a, api.JobReply{Job: j, Results: &api.Results{Tasks: []api.TaskGroup{{Tasks: "0-3,7"}}}})
	if err != nil || req.Array == nil || req.Array.Written != "0-3,7%2" {
		t.Errorf("%v %+v", err, req)
	}
	var e *api.Error
	_, err = onceMore(a, api.JobReply{Job: j, Results: &api.Results{Tasks: []api.TaskGroup{{Tasks: "0", State: job.Completed}, {Tasks: "1-3,7"}}}})
	if !errors.As(err, &e) || e.Code != api.CodeConflict {
		t.Errorf("one that has begun: %v", err)
	}
}

// If the environment names no home, as in a systemd unit, the home of the account is used.
func TestCommandsForSlurmHaveAHome(t *testing.T) {
	t.Setenv("HOME", "")
	if home := shell(&cli.App{Env: cli.Env{Getenv: cli.Getenv}}).Home; !filepath.IsAbs(home) {
		t.Errorf("%q", home)
	}
}

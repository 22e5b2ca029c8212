package server

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
	"github.com/gpusched/gpusched/units/contract"
)

// privatePart returns the private part of a job. The caller must have checked the right to see it
// (invariant 3). The private part of a task is its array's private part with the task's own
// parameters. If the private part is lost, privatePart returns nil, so that the rest of the job can
// still be shown.
func (f *jobFinder) privatePart(ctx context.Context, v job.JobView) (*api.Private, error) {
	y, err := f.backend(ctx).Payload(ctx, v.PayloadID())
	if errors.Is(err, job.ErrNoPayload) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	array, err := f.arrayOf(ctx, v)
	if err != nil {
		return nil, err
	}
	var params []job.Param
	if array != nil {
		params = array.Params
	}
	if array != nil && v.Task != nil {
		y.Argv = array.Expand(y.Argv, v.Task.Index)
		params = ownParams(array, v.Task.Index)
	}
	return &api.Private{
		Command: api.Quote(y.Argv...), Program: api.Program{
			Argv: y.Argv, EnvMode: y.EnvMode, Env: y.Env, Dir: api.Bytes(y.Dir), Umask: y.Umask,
			Setup: y.Setup, Container: y.Container, Log: shownLog(v, y), TTY: y.TTY,
			Snapshot: y.Snapshot,
		},
		Params: params, Screen: words.ScreenName(&v.Job, y.Argv),
		Scratch: v.Scratch, LogPattern: y.Log.Path, SetupCut: y.SetupCut,
		NotifyTo: y.NotifyTo,
	}, nil
}

// shownLog returns the path of a job's log in the form that readers see. Sequences such as %j are
// replaced, unless the job is an array. Every reader sees the same path, in every working
// directory.
func shownLog(v job.JobView, y job.Payload) contract.Log {
	l := y.Log
	if l.Path == "" {
		return l
	}
	if v.Request.Array == nil || v.Task != nil {
		l.Path = v.LogPath(l.Path)
	}
	switch rest, ofHome := job.InHome(l.Path); {
	case ofHome:
		l.Path = "~" + v.Owner.User + "/" + rest
	case !path.IsAbs(l.Path):
		l.Path = path.Join(y.Dir, l.Path)
	}
	return l
}

// arrayOf returns the array of an array job or of a task, and nil for any other job.
func (f *jobFinder) arrayOf(ctx context.Context, v job.JobView) (*job.Array, error) {
	if v.Task == nil || v.Request.Array != nil {
		return v.Request.Array, nil
	}
	whole, err := f.jobByID(ctx, v.Task.Array, job.Query{})
	return whole.Request.Array, err
}

// ownParams returns the array's parameters with the values of one task.
func ownParams(a *job.Array, index int) []job.Param {
	out := slices.Clone(a.Params)
	for i, v := range a.ParamValues(index) {
		out[i].Values = []string{v}
	}
	return out
}

package main

import (
	"context"
	"errors"
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/store"
	"github.com/gpusched/gpusched/units/launch"
)

// stored is the store as package daemon wants it.
type stored struct{ *store.Store }

func (s stored) Commit(ctx context.Context, records []core.Record) error {
	rows := make([]store.Record, len(records))
	for i, r := range records {
		rows[i] = store.Record(r)
	}
	return s.Store.Commit(ctx, rows)
}

func (s stored) Jobs(ctx context.Context, ids []job.ID) ([]job.JobView, error) {
	var views []job.JobView
	for _, id := range ids {
		j, err := s.Job(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		attempts, err := s.Attempts(ctx, id)
		if err != nil {
			return nil, err
		}
		views = append(views, job.JobView{Job: j, Attempts: attempts})
	}
	return views, nil
}

func (s stored) Ended(ctx context.Context, q job.Query) ([]job.Job, error) {
	return s.Store.Ended(ctx, store.Filter{UID: q.UID, State: q.State, Name: q.Name, Limit: q.Ended})
}

// specDir is the directory of specs as package daemon wants it.
type specDir string

func (d specDir) Write(id job.ID, uid int, s *launch.Spec) (string, error) {
	return launch.Write(string(d), int64(id), uid, s)
}

func (d specDir) Remove(id job.ID) error { return launch.Remove(string(d), int64(id)) }

func (d specDir) Sweep(keep func(job.ID) bool) error {
	return launch.Sweep(string(d), func(id int64) bool { return keep(job.ID(id)) })
}

// meter reads a control group's use so far.
func meter(controlGroup string) (int64, time.Duration, bool) {
	s, err := cgroup.Read(cgroup.Root, controlGroup)
	if err != nil {
		return 0, 0, false
	}
	return s.PeakOrNow(), s.CPU, true
}

package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// endRecords returns the ends of many jobs that are cancelled in one step. Similar jobs follow each
// other. Among them are a job of another person, a job that is recorded twice, a job queued in the
// same transaction, and an array.
func endRecords() (before, after []job.Record) {
	end := func(j *job.Job, by string) job.Record {
		e := *j
		e.State, e.ChangedAt, e.Result = job.Cancelled, epoch.Add(time.Hour), &job.Result{Outcome: job.Cancelled, By: by}
		return job.Record{Job: &e}
	}
	for id := job.ID(1); id <= 30; id++ {
		j := queuedJob(id)
		j.Label.Name, j.QueuedAt, j.Expected = fmt.Sprint("train-", id), epoch, time.Duration(id)*time.Minute
		before = append(before, job.Record{Job: j, Payload: payload()})
		by := "root"
		if id > 10 && id < 13 {
			by = "alice"
		}
		switch id {
		case 15:
			after = append(after, job.Record{GPU: &job.GPUControl{UUID: "GPU-0", Paused: true, By: "root", At: epoch}})
		case 20:
			after = append(after, after[len(after)-1])
		case 25:
			young := queuedJob(31)
			after = append(after, job.Record{Job: young, Payload: payload()}, end(young, "root"))
		}
		after = append(after, end(j, by))
	}
	many := array(32, 0)
	before = append(before, job.Record{Job: many, Payload: payload()})
	after = append(after, end(many, "root"))
	return before, after
}

// The ends of many jobs are written together, even if the file has lost one of the jobs.
func TestEndsAtOnce(t *testing.T) {
	ctx := context.Background()
	for _, lost := range []job.ID{0, 5} {
		s := openNew(t)
		before, after := endRecords()
		for _, r := range before {
			if r.Job.ID != lost {
				commit(t, s, r)
			}
		}
		commit(t, s, after...)
		want := map[job.ID]job.Job{}
		for _, r := range after {
			if r.Job != nil {
				want[r.Job.ID] = *r.Job
			}
		}
		if lost == 0 {
			mustCheck(t, s)
		}
		for id := job.ID(1); id <= 32; id++ {
			j, err := s.Job(ctx, id)
			requireEqual(t, err, j, want[id])
			p, err := s.Payload(ctx, id)
			if err == nil && (len(p.Env) > 0 || len(p.Limits) > 0) {
				t.Errorf("the environment of job %d is still there", id)
			}
		}
		runs := 0
		err := s.Runs(ctx, job.RunQuery{Tags: true}, func(*job.Run) error {
			runs++
			return nil
		})
		requireEqual(t, err, runs, 31)
	}
}

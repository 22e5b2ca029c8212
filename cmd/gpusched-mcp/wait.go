package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// Time limits of one call of wait. Many agents abandon a call after a minute.
const (
	defaultWait = 45 * time.Second
	maxWait     = 10 * time.Minute
)

type waitIn struct {
	IDs     []string `json:"ids" jsonschema:"the jobs: numbers such as 12 (an array's number means all of its tasks), or tasks such as 7_3"`
	Seconds float64  `json:"seconds,omitempty" jsonschema:"answer after this many seconds at the latest: 45 by default, 600 at most"`
}

// waitOut describes the jobs of a call of wait.
type waitOut struct {
	Ended bool      `json:"ended"`          // all jobs have ended
	Says  []string  `json:"says"`           // one sentence per job
	Next  string    `json:"next,omitempty"` // what to do if not all have ended
	Jobs  []api.Job `json:"jobs"`
}

// wait waits for jobs to end, for a bounded time, and describes each job.
func (t *tools) wait(ctx context.Context, in waitIn) (any, error) {
	limit := defaultWait
	if in.Seconds > 0 {
		limit = time.Duration(min(in.Seconds, maxWait.Seconds()) * float64(time.Second))
	}
	end := time.Now().Add(limit)
	if err := checkIDs(in.IDs); err != nil {
		return nil, err
	}
	for _, id := range in.IDs { // refuse unknown jobs before the first wait
		if _, err := api.Show(ctx, t.client, id, api.JobQuery{}); err != nil {
			return nil, err
		}
	}
	out := waitOut{Ended: true}
	for _, id := range in.IDs {
		over, err := t.waitUntil(ctx, id, end)
		if err != nil {
			return nil, err
		}
		reply, err := api.Show(ctx, t.client, id, api.JobQuery{})
		if err != nil {
			return nil, err
		}
		over = over || reply.Job.State.Terminal()
		out.Ended = out.Ended && over
		out.Says = append(out.Says, fmt.Sprintf("job %s %s", id, describeState(&reply.Job, over)))
		out.Jobs = append(out.Jobs, reply.Job)
	}
	if !out.Ended {
		out.Next = fmt.Sprintf("not all jobs have ended after %v: call wait again, or do something else first", limit)
	}
	return out, nil
}

// waitUntil waits until the job has ended or the time limit has passed. It reports whether the job
// has ended.
func (t *tools) waitUntil(ctx context.Context, id string, end time.Time) (over bool, err error) {
	left := time.Until(end)
	if left <= 0 {
		return false, nil
	}
	_, err = api.Wait(ctx, t.client, id, left)
	var late *api.Error
	if errors.As(err, &late) && late.Code == api.CodeWaitTimeout {
		return false, nil
	}
	return err == nil, err
}

// describeState describes the state of a job. The argument final says whether the state is final.
func describeState(j *api.Job, final bool) string {
	switch {
	case j.Result != nil:
		return j.Cause(words.Reader{})
	case j.State == job.Queued && final:
		return colon("will not start", j.Because(words.Reader{}))
	case j.State != job.Queued:
		return "is " + string(j.State) + onGPUs(j.GPUs)
	case !j.ExpectedStart.IsZero():
		return colon("waits", j.Because(words.Reader{})) + "; it is expected to start at " + j.ExpectedStart.UTC().Format(time.RFC3339)
	case j.StartUnknown:
		return colon("waits", j.Because(words.Reader{})) + colon("; its start cannot be predicted", j.StartUnknownWhy)
	}
	return colon("waits", j.Because(words.Reader{}))
}

func colon(text, why string) string {
	if why == "" {
		return text
	}
	return text + ": " + why
}

func onGPUs(list []api.Allocation) string {
	names := job.Each(list, func(g api.Allocation) string { return fmt.Sprint(g.Index) })
	switch len(names) {
	case 0:
		return ""
	case 1:
		return " on GPU " + names[0]
	}
	return " on GPUs " + strings.Join(names, ",")
}

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// likeBefore is how far back like failures are looked for.
const likeBefore = 30 * 24 * time.Hour

// triageOut is what is known of a job that failed.
type triageOut struct {
	ID       string        `json:"id"`
	State    job.State     `json:"state"`
	Result   *api.Result   `json:"result,omitempty"`
	Attempts []api.Attempt `json:"attempts,omitempty"` // with the GPUs' use
	PeakMem  int64         `json:"peak_mem_bytes,omitempty"`
	AskedMem int64         `json:"mem_bytes,omitempty"`
	Warnings []job.Warning `json:"warnings,omitempty"`

	Output any    `json:"output,omitempty"` // its last lines
	NoText string `json:"no_output,omitempty"`

	Before map[job.State]int `json:"before"` // how jobs of the same name and user ended in the last 30 days
	Try    []string          `json:"try"`
}

// triage puts together what one would look at.
func (t *tools) triage(ctx context.Context, in oneJob) (any, error) {
	if err := checkID(in.ID); err != nil {
		return nil, err
	}
	reply, err := api.Show(ctx, t.client, in.ID, api.JobQuery{})
	if err != nil {
		return nil, err
	}
	j := &reply.Job
	if !j.State.Terminal() {
		return nil, fmt.Errorf("job %s has not ended: it is %s; use why or logs", in.ID, j.State)
	}
	out := triageOut{
		ID: in.ID, State: j.State, Result: j.Result, Attempts: reply.Attempts, PeakMem: j.PeakMemBytes, AskedMem: j.MemBytes,
		Warnings: j.Warnings, Try: toTry(j),
	}
	if text, err := t.logs(ctx, logsIn{ID: in.ID, Lines: fewLines / 2}); err == nil {
		out.Output = text
	} else {
		out.NoText = err.Error()
	}
	out.Before, err = t.before(ctx, j)
	return out, err
}

// before counts how like jobs ended.
func (t *tools) before(ctx context.Context, j *api.Job) (map[job.State]int, error) {
	counts := map[job.State]int{}
	past, err := api.History(ctx, t.client, api.HistoryQuery{
		UID: &j.UID, Name: j.Name, Since: time.Now().Add(-likeBefore), Order: "newest", Limit: mostJobs,
	})
	for i := range past.Jobs {
		if past.Jobs[i].ID != j.ID {
			counts[past.Jobs[i].State]++
		}
	}
	return counts, err
}

// toTry is what helps against an end, in the options of submit.
func toTry(j *api.Job) []string {
	switch j.State {
	case job.OutOfMemory:
		return []string{"ask for more host memory: option mem", "queue it again, where the result says that the host ran out: then it was not the job", "or have the program load less at once"}
	case job.GPUOutOfMemory:
		return []string{"ask for more memory on each GPU: option gpu-mem (auto is what earlier runs took)", "or a smaller batch"}
	case job.TimedOut:
		return []string{"a longer limit: option time", "or write checkpoints, and on-timeout requeue"}
	case job.Lost:
		return []string{"queue it again: it was the machine, not the job"}
	case job.Failed:
		if j.Result != nil && j.Result.Launch != "" {
			return []string{"the command could not be started: look at its path, its interpreter and the environment"}
		}
		return []string{"its last lines say more", "retries, if it fails now and then"}
	}
	return []string{}
}

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// similarWindow is the period over which similar jobs are counted.
const similarWindow = 30 * 24 * time.Hour

// triageOut describes what the scheduler knows about a failed job.
type triageOut struct {
	ID       string        `json:"id"`
	State    job.State     `json:"state"`
	Result   *api.Result   `json:"result,omitempty"`
	Attempts []api.Attempt `json:"attempts,omitempty"` // each with its GPU use
	PeakMem  int64         `json:"peak_mem_bytes,omitempty"`
	AskedMem int64         `json:"mem_bytes,omitempty"`
	Warnings []job.Warning `json:"warnings,omitempty"`

	Output any    `json:"output,omitempty"` // the last lines
	NoText string `json:"no_output,omitempty"`

	Before map[job.State]int `json:"before"` // how jobs of the same name and user ended in the last 30 days
	Try    []string          `json:"try"`
}

// triage collects information that helps to find out why a job failed.
func (t *tools) triage(ctx context.Context, in jobIn) (any, error) {
	if err := checkID(in.ID); err != nil {
		return nil, err
	}
	reply, err := api.Show(ctx, t.client, in.ID, api.JobQuery{})
	if err != nil {
		return nil, err
	}
	j := &reply.Job
	if !j.State.Terminal() {
		return nil, fmt.Errorf("job %s has not ended: it is %s; call why or logs instead", in.ID, j.State)
	}
	out := triageOut{
		ID: in.ID, State: j.State, Result: j.Result, Attempts: reply.Attempts, PeakMem: j.PeakMemBytes, AskedMem: j.MemBytes,
		Warnings: j.Warnings, Try: advice(j),
	}
	if text, err := t.logs(ctx, logsIn{ID: in.ID, Lines: defaultLines / 2}); err == nil {
		out.Output = text
	} else {
		out.NoText = err.Error()
	}
	out.Before, err = t.countSimilar(ctx, j)
	return out, err
}

// countSimilar counts the states in which similar jobs ended.
func (t *tools) countSimilar(ctx context.Context, j *api.Job) (map[job.State]int, error) {
	counts := map[job.State]int{}
	past, err := api.History(ctx, t.client, api.HistoryQuery{
		UID: &j.UID, Name: j.Name, Since: time.Now().Add(-similarWindow), Order: "newest", Limit: maxJobs,
	})
	for i := range past.Jobs {
		if past.Jobs[i].ID != j.ID {
			counts[past.Jobs[i].State]++
		}
	}
	return counts, err
}

// advice suggests what to do after this kind of end, in terms of submit's options.
func advice(j *api.Job) []string {
	switch j.State {
	case job.OutOfMemory:
		return []string{"request more host memory with the option mem", "if the result says that the host ran out of memory, the job was not the cause: queue it again", "or make the program load less at once"}
	case job.GPUOutOfMemory:
		return []string{"request more memory on each GPU with the option gpu-mem (auto takes what earlier runs needed)", "or use a smaller batch size"}
	case job.TimedOut:
		return []string{"set a longer limit with the option time", "or write checkpoints and set on-timeout to requeue"}
	case job.Lost:
		return []string{"queue it again: the machine was the cause, not the job"}
	case job.Failed:
		if j.Result != nil && j.Result.Launch != "" {
			return []string{"the command could not be started: check its path, its interpreter and the environment"}
		}
		return []string{"read its last lines", "if it fails only now and then, set the option retries"}
	}
	return []string{}
}

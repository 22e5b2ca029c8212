package dst

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// replayEvery is the number of steps from one check of invariant 10 to the next. A check costs as
// much as twenty steps.
const replayEvery = 25

// judgeReplay checks invariant 10: a core that starts from the records of all steps so far has the
// same jobs.
func (w *World) judgeReplay(eff *core.Effects, c *core.Core) {
	j := w.tracked
	for i := range eff.Records {
		j.mirror.put(&eff.Records[i])
	}
	if j.steps++; j.steps%replayEvery != 0 {
		return
	}
	now := w.now(w.life)
	live := c.View(job.Query{}, now).Jobs
	again := core.New(j.policy, w.bootID(), j.mirror.restoredState()).View(job.Query{}, now).Jobs
	byID := func(a, b job.JobView) int { return int(a.ID - b.ID) }
	slices.SortFunc(live, byID)
	slices.SortFunc(again, byID)
	if len(live) != len(again) {
		w.breach(10, "%d jobs, and %d after a restart", len(live), len(again))
		return
	}
	for i := range live {
		if r := &again[i]; r.State == job.Starting && live[i].State == job.Queued {
			r.State = job.Queued // the job waits to be started after other jobs, but a restart does not know that
		}
		if a, b := durable(&live[i].Job), durable(&again[i].Job); !reflect.DeepEqual(a, b) {
			w.breach(10, "job %d is %+v, and after a restart %+v", live[i].ID, a, b)
		}
	}
}

// durable returns the parts of a job that a restart must not change. Times are reduced to what the
// disk keeps.
func durable(j *job.Job) []any {
	d := []any{j.ID, j.Key, j.Owner.UID, j.Label.Name, j.State, j.Stop, j.StopBy, j.Held, j.Warned,
		j.WarnsAt.IsZero(), j.Failures, j.Requeues, len(j.Pending),
		j.Request.GPUMilli, j.Request.TimeLimit, j.Request.Priority, j.Request.Retries,
		j.NotBefore.UnixNano(), j.QueuedAt.UnixNano(), j.AwayAt.UnixNano()}
	if a := j.Attempt; a != nil {
		refs := slices.Clone(a.GPUs)
		for i := range refs {
			refs[i].Use = asWritten(refs[i].Use)
		}
		d = append(d, a.Number, fmt.Sprint(refs), a.InvocationID, a.Result != nil, a.EndedAt.IsZero())
	}
	if j.Tasks != nil {
		d = append(d, asWritten(*j.Tasks))
	}
	return d
}

func (s *disk) clone() *disk {
	c := newDisk(s.w)
	c.jobs, c.controls, c.usage = maps.Clone(s.jobs), maps.Clone(s.controls), maps.Clone(s.usage)
	c.learned, c.reserved, c.messages = maps.Clone(s.learned), maps.Clone(s.reserved), maps.Clone(s.messages)
	c.attempts, c.payloads, c.keys = maps.Clone(s.attempts), maps.Clone(s.payloads), maps.Clone(s.keys)
	c.nextJob, c.nextRes, c.events = s.nextJob, s.nextRes, s.events
	c.alive = s.alive
	return c
}

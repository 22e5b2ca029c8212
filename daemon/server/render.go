package server

import (
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// renderJob converts the part of a job that everybody may see.
func renderJob(v job.JobView) api.Job {
	j, q := &v.Job, &v.Request
	out := api.Job{
		ID: int64(j.ID), Name: j.Label.Name, Comment: j.Label.Comment, Tags: j.Label.Tags,
		User: j.Owner.User, UID: j.Owner.UID, State: string(j.State), Priority: q.Priority.String(),
		SubmittedAt: j.SubmittedAt.UTC(), StopRequested: string(j.Stop),
		GPUMilli: q.GPUMilli, GPUIDs: q.GPUIDs, GPUsFrom: q.GPUsFrom, GPUType: q.GPUType, GPUMemBytes: q.GPUMemBytes,
		MemBytes: q.MemBytes, MemDefaulted: q.DefaultedMem, CPUs: q.CPUs,
		TimeLimitSeconds: wholeSeconds(q.TimeLimit), GraceSeconds: wholeSeconds(q.Grace), Requeue: q.Requeue,
		Result: renderResult(j.Result), Reasons: renderReasons(v.Reasons), Why: why(v.Reasons),
	}
	if j.ID != 0 {
		out.Unit = "gpujob-" + j.ID.String() + ".service"
	}
	if j.State.Terminal() {
		out.EndedAt = j.ChangedAt.UTC()
	}
	if a := j.Attempt; a != nil {
		out.Attempt, out.InvocationID, out.GPUs = a.Number, a.InvocationID, renderRefs(a.GPUs)
		out.PlacedAt, out.StartedAt = a.PlacedAt.UTC(), a.StartedAt.UTC()
		out.PeakMemBytes, out.CPUSeconds = a.PeakMemBytes, a.CPUTime.Seconds()
	}
	return out
}

// wholeSeconds rounds up, so that a limit below a second does not read as none.
func wholeSeconds(d time.Duration) int64 {
	return int64((d + time.Second - 1) / time.Second)
}

func renderRefs(list []job.GPURef) []api.GPURef {
	out := make([]api.GPURef, len(list))
	for i, g := range list {
		out[i] = api.GPURef{UUID: g.UUID, Index: g.Index}
	}
	return out
}

func renderResult(r *job.Result) *api.Result {
	if r == nil {
		return nil
	}
	return &api.Result{
		Outcome: string(r.Outcome), ExitCode: r.ExitCode, Signal: r.Signal, Launch: string(r.Launch), Errno: r.Errno,
		Code: r.Code(), Sentence: r.Sentence(),
	}
}

func renderAttempts(list []job.Attempt) []api.Attempt {
	out := make([]api.Attempt, len(list))
	for i, a := range list {
		out[i] = api.Attempt{
			Number: a.Number, GPUs: renderRefs(a.GPUs), InvocationID: a.InvocationID,
			PlacedAt: a.PlacedAt.UTC(), StartedAt: a.StartedAt.UTC(), EndedAt: a.EndedAt.UTC(), Result: renderResult(a.Result),
		}
	}
	return out
}

func renderReasons(list []job.Reason) []api.Reason {
	out := make([]api.Reason, len(list))
	for i, r := range list {
		out[i] = api.Reason{
			Code: string(r.Code), GPU: r.GPU, Job: int64(r.Job), Need: r.Need, Have: r.Have, Detail: r.Detail,
			Sentence: r.Sentence(),
		}
	}
	return out
}

package server

import (
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// renderJob converts the part of a job that everybody may see.
func renderJob(v *job.JobView) api.Job {
	j := &v.Job
	out := api.Job{
		ID: j.ID, Label: j.Label, User: j.Owner.User, UID: j.Owner.UID, State: j.State,
		Request: publicPart(j.Request), MemDefaulted: j.Request.DefaultedMem, After: j.Pending,
		SubmittedAt: j.SubmittedAt.UTC(), StopRequested: j.Stop,
		Result: renderEnd(j), Reasons: renderReasons(v.Reasons), Why: words.Why(v.Reasons),
		Warnings: renderWarnings(v.Warnings()),
	}
	if j.State == job.Ending {
		out.Why = j.Left
	}
	renderLife(&out, v)
	if j.ID != 0 && out.Array == nil { // an array runs nothing itself
		out.Unit = j.ID.Unit()
	}
	if j.State.Terminal() {
		out.EndedAt = j.ChangedAt.UTC()
	}
	if j.Attempt != nil {
		out.Attempt = j.Attempt.Number
	}
	if a := j.Attempt; a != nil && j.State != job.Queued { // a job that is queued again has no allocation
		out.InvocationID, out.GPUs = a.InvocationID, renderUses(a.GPUs, v.Uses)
		out.PromisedCPUs = j.CPUs()
		if j.Park != job.NotParked && !j.State.Terminal() {
			out.GPUs, out.Parked = renderUses(j.HeldGPUs(), v.Uses), renderParked(j)
		}
		out.PlacedAt, out.StartedAt = a.PlacedAt.UTC(), a.StartedAt.UTC()
		out.MemLentBytes = j.MemLent
		out.PeakMemBytes, out.CPUSeconds = a.PeakMemBytes, a.CPUTime.Duration().Seconds()
	}
	return out
}

// publicPart returns the fields of a request that everybody may see.
// It has only fields that are named here (invariant 3). It omits fields that show the command,
// or that the wire has in another form.
func publicPart(r job.Request) job.Request {
	out := job.Request{
		GPUMilli: r.GPUMilli, GPUMemBytes: r.GPUMemBytes, GPUIDs: r.GPUIDs, GPUsFrom: r.GPUsFrom, ExcludeGPUs: r.ExcludeGPUs,
		GPUType: r.GPUType, GPUVisible: r.GPUVisible, MemBytes: r.MemBytes, CPUs: r.CPUs,
		TimeLimit: r.TimeLimit, Priority: r.Priority,
		MaxLoadPercent: r.MaxLoadPercent, MaxUsedPercent: r.MaxUsedPercent, Spread: r.Spread, MPS: r.MPS, MPSFair: r.MPSFair,
		Preemptible: r.Preemptible, NoPark: r.NoPark, Screen: r.Screen, Hold: r.Hold, Requeue: new(r.MayRequeue()),
		OnTimeout: r.OnTimeout, WarnSignal: r.WarnSignal, WarnBefore: r.WarnBefore, Retries: r.Retries, Backoff: r.Backoff,
		WarnMain: r.WarnMain, SignalTo: r.SignalTo,
		Begin: moment(r.Begin), MaxFailures: r.MaxFailures, Objective: r.Objective, Batch: r.Batch,
		Lane: r.Lane,
	}
	out.Notify, _ = splitNotify(r.Notify)
	if r.GraceTime() > 0 {
		out.Grace = r.Grace
	}
	wholeSpans(&out)
	return out
}

// renderLife adds times from a job's history, and the expected times of its start and end.
func renderLife(out *api.Job, v *job.JobView) {
	j := &v.Job
	out.QueuedAt, out.HeldBy, out.NotBefore = moment(j.QueuedAt), j.Held, moment(j.NotBefore)
	out.SuspendedAt, out.SuspendedBy = moment(j.SuspendedAt), j.SuspendedBy
	out.SuspendedUntil = moment(v.ResumesAt)
	out.SuspendedTime = job.Span(j.SuspendedTime).Floor()
	out.ParkedTime = job.Span(j.ParkedTime).Floor()
	out.Unparkable = words.Say(j.Unparkable)
	out.Failures, out.Requeues, out.StopFor = j.Failures, j.Requeues, j.StopFor
	out.ExpectedStart, out.ExpectedEnd = moment(v.Start.At), moment(v.EndsAt)
	out.ExpectedStartFrom, out.ExpectedStartBy = moment(v.Start.From), moment(v.Start.By)
	if out.StartUnknown = v.Start.Unknown; out.StartUnknown {
		out.StartUnknownWhy = sayEndless(v.Reasons)
	}
	out.Expected = job.Span(j.Expected).Ceil()
	out.GPUMemAuto, out.GPUMemKnownBytes = j.Request.AutoMem, v.MemKnown
	out.Task = renderTask(j.Task)
	if array := j.Request.Array; array != nil && j.Task == nil {
		out.Array = renderArray(array, j.Tasks, &v.LiveTasks)
		out.Array.TooManyFailed = j.TooManyFailed()
	}
}

func renderParked(j *job.Job) *api.Parked {
	return &api.Parked{
		State: j.Park, For: j.ParkedFor, Wants: j.ParkWants, Awake: j.ParkAwake,
		HostMemBytes: j.ParkBytes, GPUs: renderRefs(j.Attempt.GPUs),
	}
}

// A job may wait for another job whose end nobody can predict. sayEndless returns a sentence that
// names that other job and the reason, or "" if there is no such job.
func sayEndless(why []job.Reason) string {
	for _, r := range why {
		if !r.Endless.IsZero() {
			return words.Say(r.Endless)
		}
	}
	return ""
}

func renderTask(t *job.Task) *api.Task {
	if t == nil {
		return nil
	}
	return &api.Task{Task: *t, Name: t.String()}
}

// renderArray converts an array. It omits the parameters,
// because they are part of the command (invariant 3).
func renderArray(a *job.Array, n *job.Tasks, s *job.LiveTasks) *api.Array {
	out := &api.Array{Spec: a.Spec(), Size: a.Size(), Limit: a.Limit}
	if n != nil {
		out.Next, out.Live = n.Became(), n.Live
		out.Failed, out.Cancelled = n.Failed, n.Cancelled()
		out.SkippedTasks = job.ShortTasks(n.Skipped(a))
	}
	out.Waiting, out.Held = len(s.Waiting), s.Held
	out.WaitingTasks, out.RunningTasks = job.ShortTasks(s.Waiting), job.ShortTasks(s.Running)
	return out
}

// renderUses converts the GPUs of a job. The second list has what the job uses of them at present.
func renderUses(list []job.Allocation, now []job.GPUNow) []api.Allocation {
	out := renderRefs(list)
	for i := range out {
		if i < len(now) {
			renderUse(&out[i], now[i].GPUUse)
			out[i].UsedBytes, out[i].Idle = now[i].UsedBytes, job.Span(now[i].Idle).Floor()
		}
	}
	return out
}

func renderUse(out *api.Allocation, u job.GPUUse) {
	out.PeakBytes, out.Seen, out.Busy = u.PeakBytes, job.Span(u.Seen).Floor(), job.Span(u.Busy).Floor()
	out.BusyPeakPercent, out.MeanBytes, out.EnergyJoules = orNil(u.PeakPercent()), orNil(u.MeanBytes()), orNil(u.Joules())
}

// orNil returns a pointer to a measurement, or nil for a value below 0, which means unknown.
func orNil[T int | int64 | float64](v T) *T {
	if v < 0 {
		return nil
	}
	return &v
}

func renderWarnings(list []job.Warning) []job.Warning {
	for i := range list {
		w := &list[i]
		w.Sentence = words.Warning(*w)
		w.Since, w.Idle = moment(w.Since), w.Idle.Floor()
	}
	return list
}

func renderRefs(list []job.Allocation) []api.Allocation {
	out := make([]api.Allocation, len(list))
	for i, g := range list {
		out[i].GPU = g.GPU
		out[i].Minor, out[i].GICap, out[i].CICap = 0, 0, 0
		out[i].Milli = g.Share()
		renderUse(&out[i], g.Use)
	}
	return out
}

// renderEnd converts a job's result. Only a job that began has an exit code.
func renderEnd(j *job.Job) *api.Result {
	out := renderResult(j.Result)
	if out != nil {
		out.Code = j.Code()
	}
	return out
}

// renderResult converts the fields of a result that the public sentence about it uses.
// All other fields stay private.
func renderResult(r *job.Result) *api.Result {
	if r == nil {
		return nil
	}
	public := job.Result{
		Outcome: r.Outcome, ExitCode: r.ExitCode, Signal: r.Signal, Launch: r.Launch, Errno: r.Errno, Detail: r.Detail,
		By: r.By, Cause: r.Cause, For: r.For, ForName: r.ForName, Limit: r.Limit, MemBytes: r.MemBytes,
		PeakBytes: r.PeakBytes, Left: r.Left, Breach: r.Breach, Tries: r.Tries,
	}
	if e := r.GPUError; e != nil {
		public.GPUError = &job.GPUError{GPU: e.GPU, Xid: e.Xid, What: e.What}
	}
	return &api.Result{Result: public, Code: r.Code(), Sentence: words.Result(r)}
}

func renderAttempts(list []job.Attempt) []api.Attempt {
	return job.Each(list, func(a job.Attempt) api.Attempt {
		gpus, result := renderRefs(a.GPUs), renderResult(a.Result)
		a.BootID, a.HostUse = "", job.HostUse{}
		a.EligibleAt = moment(a.EligibleAt)
		a.PlacedAt, a.StartedAt, a.EndedAt = a.PlacedAt.UTC(), a.StartedAt.UTC(), a.EndedAt.UTC()
		return api.Attempt{Attempt: a, GPUs: gpus, Result: result}
	})
}

func renderReasons(list []job.Reason) []api.Reason {
	return job.Each(words.InOrder(list), func(r job.Reason) api.Reason {
		return api.Reason{Reason: r, Detail: words.Say(r.Detail), Why: r.Detail, Sentence: words.Reason(r)}
	})
}

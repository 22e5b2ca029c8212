package onslurm

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/sbatch"
	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// Manager is the value in api.Job that names Slurm as the manager of a job's processes.
const Manager = "slurm"

// states translates Slurm's job states (squeue(1), JOB STATE CODES). A state that is missing here
// is from a later release of Slurm, and counts as running.
var states = map[string]job.State{
	"PENDING": job.Queued, "REQUEUED": job.Queued, "REQUEUE_HOLD": job.Queued, "REQUEUE_FED": job.Queued,
	"RESV_DEL_HOLD": job.Queued, "SPECIAL_EXIT": job.Queued,
	"CONFIGURING": job.Starting, "POWER_UP_NODE": job.Starting,
	"RUNNING": job.Running, "SUSPENDED": job.Running, "STOPPED": job.Running, "RESIZING": job.Running,
	"COMPLETING": job.Ending, "STAGE_OUT": job.Ending, "SIGNALING": job.Ending, "UPDATE_DB": job.Ending,
	"COMPLETED": job.Completed, "CANCELLED": job.Cancelled, "REVOKED": job.Cancelled, "PREEMPTED": job.Cancelled,
	"FAILED": job.Failed, "BOOT_FAIL": job.Failed, "DEADLINE": job.Failed, "LAUNCH_FAILED": job.Failed,
	"RECONFIG_FAIL": job.Failed, "EXPEDITING": job.Running,
	"TIMEOUT": job.TimedOut, "OUT_OF_MEMORY": job.OutOfMemory, "NODE_FAIL": job.Lost,
}

// stateOf translates a state. sacct may add text to a state, as in "CANCELLED by 1000".
func stateOf(word string) job.State {
	word, _, _ = strings.Cut(strings.TrimSuffix(word, "+"), " ")
	if s, ok := states[word]; ok {
		return s
	}
	return job.Running
}

// job translates the row to a job.
func (r *row) job() api.Job {
	id := job.ID(r.number(colJobID))
	j := api.Job{
		ID: id, Manager: Manager, Label: job.Label{Name: r[colName], Comment: r[colComment]},
		User: r[colUserName], UID: int(r.number(colUserID)), State: stateOf(r[colState]),
		SubmittedAt: r.time(colSubmitTime), QueuedAt: r.time(colSubmitTime),
		Request: job.Request{Requeue: new(bool)}, Requeues: int(r.number(colRestartCnt)),
		Attempt: int(r.number(colRestartCnt)) + 1,
	}
	r.setRequest(&j)
	r.setTimes(&j)
	r.setArray(&j)
	switch {
	case j.State.Terminal():
		j.Result = r.result(&j)
	case j.State == job.Queued:
		j.Attempt--
		r.setWaiting(&j)
	}
	return j
}

// neverQueued reports whether sbatch refused the submission.
// Slurm keeps such a job for a while as a failed job.
func (r *row) neverQueued() bool {
	return r[colState] == "FAILED" && r[colReason] == "BadConstraints" && r[colNodeList] == "" && r[colStartTime] == r[colSubmitTime]
}

// setRequest sets what the job requested.
func (r *row) setRequest(j *api.Job) {
	amounts, _ := parseTRES(r[colTresAlloc])
	j.MemBytes = parseSize(amounts["mem"])
	if n, err := strconv.Atoi(amounts["cpu"]); err == nil {
		j.CPUs = n
	} else {
		j.CPUs = int(r.number(colNumCPUs))
	}
	if limit, err := slurm.Minutes(r[colTimeLimit]); err == nil {
		j.TimeLimit = job.Span(limit)
	}
	if nice := r.number(colNice); nice != 0 {
		j.Priority = job.Priority{Number: int(-nice)}
	}
	for _, part := range []struct {
		tres  string
		times int64
	}{
		{r[colTresPerJob], 1},
		{r[colTresPerNode], max(1, r.number(colNumNodes))},
		{r[colTresPerTask], max(1, r.number(colNumTasks))},
	} {
		amounts, kind := parseTRES(part.tres)
		if n, err := strconv.ParseInt(amounts["gpu"], 10, 64); err == nil {
			j.GPUMilli, j.GPUType = int(n*part.times)*job.WholeGPU, kind
		}
		if n, err := strconv.ParseInt(amounts["mps"], 10, 64); err == nil {
			j.GPUMilli = int(n*part.times) * job.WholeGPU / 100 // one mps is one percent of a GPU
		}
	}
	if n, err := strconv.Atoi(amounts["gpu"]); err == nil && j.GPUMilli == 0 {
		j.GPUMilli = n * job.WholeGPU
	}
	r.setFromComment(j)
}

// setFromComment sets the parts of the request that only the comment contains.
func (r *row) setFromComment(j *api.Job) {
	said := sbatch.ParseComment(r[colComment])
	j.Comment, j.Tags = said.Comment, said.Tags
	j.GPUMemBytes, j.Retries = said.GPUMem, said.Retries
	if said.GPUMilli > 0 {
		j.GPUMilli = said.GPUMilli
	}
	if said.Priority != (job.Priority{}) {
		j.Priority = said.Priority
	}
}

// setTimes sets the times that a job in this state has. For a waiting job, StartTime is Slurm's
// estimate.
func (r *row) setTimes(j *api.Job) {
	start, end := r.time(colStartTime), r.time(colEndTime)
	switch {
	case j.State == job.Queued && r[colReason] == "BeginTime":
		j.Begin, j.ExpectedStart = start, start
	case j.State == job.Queued:
		j.ExpectedStart = start
	case j.State.Terminal():
		j.EndedAt = end
		if r[colNodeList] != "" { // if a job never ran, Slurm prints its end as its start
			j.PlacedAt, j.StartedAt = start, start
		}
	default:
		j.PlacedAt, j.StartedAt, j.ExpectedEnd = start, start, end
		if r[colState] == "SUSPENDED" || r[colState] == "STOPPED" {
			j.SuspendedAt, j.SuspendedBy = start, "Slurm"
		}
	}
}

// setArray marks the job as a task, or as the tasks of an array that have not started yet.
func (r *row) setArray(j *api.Job) {
	text, array := r[colArrayTaskID], job.ID(r.number(colArrayJobID))
	if text == "" || array == 0 {
		return
	}
	if n, err := strconv.Atoi(text); err == nil {
		t := job.Task{Array: array, Index: n}
		j.Task = &api.Task{Task: t, Name: t.String()}
		return
	}
	spec, limit, _ := strings.Cut(text, "%")
	a := &api.Array{Spec: text, Size: parseTasks(spec).Size()}
	a.Limit, _ = strconv.Atoi(limit)
	j.Array = a
}

// result returns how a job ended. Older releases of Slurm print exit_code as the number that
// wait(2) returns. Since release 24 it consists of an exit code and a signal, such as "3:0".
func (r *row) result(j *api.Job) *api.Result {
	status := r.number(colExitCode)
	if code, signal, since24 := strings.Cut(r[colExitCode], ":"); since24 { // such as "3:0"
		c, _ := strconv.ParseInt(code, 10, 64)
		n, _ := strconv.ParseInt(signal, 10, 64)
		status = c<<8 | n&0x7f
	}
	res := job.Result{Outcome: j.State, ExitCode: int(status >> 8 & 0xff), Signal: int(status & 0x7f)}
	res.Limit = j.TimeLimit
	// For a job on several nodes, only the sum of their memory is known.
	if j.State == job.OutOfMemory && !strings.ContainsAny(r[colNodeList], ",[") {
		res.MemBytes, res.PeakBytes = j.MemBytes, j.MemBytes
	}
	state := r[colState]
	if by, ok := strings.CutSuffix(state, " by "+r[colUserID]); ok && r[colUserName] != "" {
		state = by + " by " + r[colUserName]
	}
	return resultOf(res, state, r[colReason], r[colNodeList] != "")
}

// resultOf translates a result. The argument started says whether the job ever ran.
func resultOf(res job.Result, state, reason string, started bool) *api.Result {
	if !started && res.Outcome == job.Failed {
		res.ExitCode, res.Signal = 1, 0
	}
	if res.Outcome != job.Failed && res.Outcome != job.Completed {
		res.Signal = 0
	}
	notEntered := started && res.Outcome == job.Failed && res.Signal == signalNotEntered
	if notEntered {
		res.ExitCode, res.Signal = 1, 0
	}
	code, said := res.Code(), job.Message{}
	word, by, _ := strings.Cut(state, " by ")
	switch {
	case word == "CANCELLED" && by != "":
		res.By = by
	case word == "CANCELLED" && reason == "DependencyNeverSatisfied":
		res.Detail = job.Text("what it waited for can't happen any more")
	case word == "PREEMPTED":
		said = job.Text("stopped to make room for another job (Slurm: PREEMPTED)")
	case word == "NODE_FAIL":
		res.Detail = job.Text("its node failed")
	case word == "BOOT_FAIL" || word == "LAUNCH_FAILED" || word == "DEADLINE":
		said = job.Text("failed before its command began (Slurm: " + word + ")")
	case !started && res.Outcome == job.Failed:
		res.Detail, code = job.Text("it never started: "+explain(reason)), 125
	case notEntered:
		said, code = job.Text("could not start: its directory could not be entered, or its output file not be opened (Slurm: 0:53)"), 125
	}
	return withSentence(api.Result{Result: res, Code: code, Said: said})
}

// withSentence adds the sentence that scripts read.
func withSentence(r api.Result) *api.Result {
	r.Sentence = words.Reader{}.Shown(&r)
	return &r
}

// signalNotEntered is the signal that Slurm reports for a
// job whose directory or output file it could not open.
const signalNotEntered = 53

// dependencies parses what a job waits for, such as "afterok:10(unfulfilled),afterany:4_*".
func dependencies(text string) (list []job.Dependency) {
	for part := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == ',' || c == '?' }) {
		part, _, _ = strings.Cut(part, "(")
		word, ids, _ := strings.Cut(part, ":")
		kind := slurm.DependencyKind(word)
		if word == "aftercorr" {
			kind = job.AfterOK
		}
		for id := range strings.SplitSeq(ids, ":") {
			id, _, _ = strings.Cut(id, "_")
			id, _, _ = strings.Cut(id, "+")
			n, err := strconv.ParseInt(id, 10, 64)
			if d := (job.Dependency{Kind: kind, Job: job.ID(n)}); kind != "" && err == nil && !slices.Contains(list, d) {
				list = append(list, d)
			}
		}
	}
	return list
}

// setWaiting sets the reason why the job waits.
func (r *row) setWaiting(j *api.Job) {
	j.After = dependencies(r[colDependency])
	reason := r[colReason]
	if r[colState] == "REQUEUE_HOLD" || r[colState] == "SPECIAL_EXIT" {
		reason = cmp.Or(reason, "JobHeldUser")
	}
	switch reason {
	case "":
		return
	case "JobHeldUser":
		j.HeldBy = j.User
	case "JobHeldAdmin":
		j.HeldBy = "a Slurm administrator"
	}
	if codeFor(reason) == job.ReasonHeld && j.HeldBy == "" {
		j.HeldBy = "Slurm"
	}
	sentence := explain(reason)
	if len(j.After) > 0 && reason == "Dependency" {
		sentence = waitsFor(j.After)
	}
	if reason == "BeginTime" && !j.Begin.IsZero() {
		sentence = beginsAt(j.Begin)
	}
	setReason(j, reason, sentence)
}

// setReason sets a job's reason from Slurm's word for the reason and our sentence.
func setReason(j *api.Job, reason, sentence string) {
	j.Reasons = []api.Reason{{
		Reason: job.Reason{Code: codeFor(reason), GPU: job.NoGPU}, Detail: reason,
		Sentence: sentence, Said: job.Text(sentence),
	}}
	j.Why = sentence
}

func beginsAt(at time.Time) string { return "not to begin before " + at.UTC().Format(time.RFC3339) }

// waitsFor returns the sentence about a job's dependencies.
func waitsFor(list []job.Dependency) string {
	does := map[job.DependencyKind]string{
		job.AfterStart: "starts", job.AfterOK: "completes", job.AfterFail: "ends in failure", job.AfterAny: "ends",
	}
	parts := job.Each(list, func(d job.Dependency) string { return fmt.Sprintf("job %d %s", d.Job, does[d.Kind]) })
	return "waits until " + strings.Join(parts, " and ")
}

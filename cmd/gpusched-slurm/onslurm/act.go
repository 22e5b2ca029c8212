package onslurm

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/sbatch"
	"github.com/gpusched/gpusched/cmd/gpusched-slurm/slurmexec"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Submit queues one job with sbatch. In a dry run it returns the start that Slurm expects, and
// queues nothing. Slurm has no request keys. If the answer of sbatch gets lost, runSbatch searches
// for the job; callers that submit again must search first (Submitted). If a submission is
// interrupted, the reply has the id of the job if there is one.
func (e *Engine) Submit(ctx context.Context, r api.SubmitRequest) (api.SubmitReply, error) {
	return e.SubmitNoted(ctx, r, func() error { return nil })
}

// SubmitNoted is like Submit, for callers that keep a record. It calls a function (begins) just
// before it runs sbatch. If the function returns an error, nothing is queued. Refused interprets an
// error of sbatch.
func (e *Engine) SubmitNoted(
	ctx context.Context, r api.SubmitRequest, begins func() error,
) (api.SubmitReply, error) {
	r.Key = markOf(r.Key)
	s, err := e.prepare(ctx, r)
	if err == nil {
		err = begins()
	}
	if err != nil {
		return api.SubmitReply{}, err
	}
	if s.LogDir != "" && !r.DryRun {
		e.makeLogDir(s.LogDir)
	}
	out, err := e.runSbatch(ctx, s, r.Key)
	reply := api.SubmitReply{Schema: api.Schema, Job: e.requested(r)}
	if err != nil {
		if len(out) > 0 {
			reply.Job.ID, _ = e.slurm.SubmittedID(ctx, string(out))
		}
		return reply, err
	}
	if r.DryRun {
		setForecast(&reply.Job, string(out))
		return reply, nil
	}
	reply.Job.ID, err = e.slurm.SubmittedID(ctx, string(out))
	return reply, err
}

// prepare returns everything that a call of sbatch needs.
// It notes options that have another meaning on Slurm.
func (e *Engine) prepare(ctx context.Context, r api.SubmitRequest) (sbatch.Submission, error) {
	s, err := e.submission(ctx, r, sbatch.Command)
	if err == nil {
		err = e.checkDependencies(ctx, r.After)
	}
	if err != nil {
		return s, err
	}
	for _, text := range s.Notes {
		e.note(text)
	}
	_, err = e.slurm.Find("sbatch")
	return s, err
}

// makeLogDir makes the directory for a job's output. Slurm would not make it, and the job would
// fail. If the directory cannot be made here, it may still exist on the nodes.
func (e *Engine) makeLogDir(dir string) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		e.note("the directory of --log can't be made here, and Slurm makes none: " + err.Error())
	}
}

// setForecast sets the start that Slurm expects. It reads the line "sbatch: Job 23 to start at
// 1795464491 using 1 processors on nodes n1 in partition all".
func setForecast(j *api.Job, said string) {
	_, rest, ok := strings.Cut(said, " to start at ")
	when, _, _ := strings.Cut(rest, " using ")
	at := parseTime(when)
	switch {
	case !ok || at.IsZero():
		j.Why = "Slurm does not say when it would start"
	case time.Until(at) > time.Minute:
		j.ExpectedStart, j.Why = at, "what it asks for is not free yet"
	default:
		j.State, j.StartedAt = job.Starting, at
	}
}

// submission translates a request into sbatch's options. If cached knowledge of the site leads to a
// refusal, it asks Slurm again and retries.
func (e *Engine) submission(
	ctx context.Context, r api.SubmitRequest, words func(api.SubmitRequest, sbatch.Site) (sbatch.Submission, error),
) (sbatch.Submission, error) {
	if err := e.slurm.OneCluster(ctx); err != nil {
		return sbatch.Submission{}, err
	}
	site, fresh, err := e.site(ctx, false)
	if err != nil {
		return sbatch.Submission{}, err
	}
	s, err := words(r, site)
	if err == nil || fresh {
		return s, err
	}
	if site, _, err = e.site(ctx, true); err != nil {
		return s, err
	}
	return words(r, site)
}

// requested returns the queued job that a request makes, together with the reason why it waits.
func (e *Engine) requested(r api.SubmitRequest) api.Job {
	j := api.Job{Manager: Manager, Engine: e.Names, Label: r.Label, Request: r.Request,
		User: e.slurm.Variable("USER"), UID: e.uid, State: job.Queued, After: r.Request.After, SubmittedAt: time.Now().UTC()}
	j.QueuedAt = j.SubmittedAt
	j.Request.Array, j.Grace, j.Requeue = nil, nil, new(bool) // Slurm decides the last two
	switch {
	case r.Hold:
		j.HeldBy = j.User
		setReason(&j, "JobHeldUser", explain("JobHeldUser"))
	case r.Begin.After(j.SubmittedAt):
		setReason(&j, "BeginTime", beginsAt(r.Begin))
	case len(j.After) > 0:
		setReason(&j, "Dependency", waitsFor(j.After))
	}
	if array, err := api.Tasks(r.Array); err == nil && array != nil {
		j.Array = &api.Array{Spec: r.Array.Written, Size: array.Size(), Limit: array.Limit}
	}
	return j
}

// change runs scontrol on a job whose state allows
// this. It returns the job as it is after the change.
func (e *Engine) change(
	ctx context.Context, id, verb string, fits func(*api.Job) bool, args ...string,
) (api.JobReply, error) {
	j, err := e.jobByID(ctx, id)
	if err != nil {
		return api.JobReply{}, err
	}
	if j.State.Terminal() {
		return api.JobReply{}, alreadyEnded(&j, id)
	}
	if !fits(&j) {
		return api.JobReply{}, &api.Error{Code: api.CodeConflict, Message: fmt.Sprintf("job %s can't be %s: it is %s", id, verb, j.State),
			Hint: fmt.Sprintf("see 'gpusched show %s'", id)}
	}
	if _, err := e.slurm.Ask(ctx, "scontrol", args...); err != nil {
		return api.JobReply{}, err
	}
	now, err := e.jobByID(ctx, id)
	return api.JobReply{Schema: api.Schema, Job: now}, err
}

// alreadyEnded returns an error that refuses a command because its job has ended.
func alreadyEnded(j *api.Job, id string) *api.Error {
	return &api.Error{Code: api.CodeConflict, Message: fmt.Sprintf("job %s has already ended: %s", id, j.State),
		Hint: fmt.Sprintf("see 'gpusched show %s'", id)}
}

func isQueued(j *api.Job) bool  { return j.State == job.Queued }
func isUnended(j *api.Job) bool { return !j.State.Terminal() }
func isRunning(j *api.Job) bool { return j.State == job.Running }

// update changes a waiting job, or the time limit of a running job. Slurm decides what the user may
// change.
func (e *Engine) update(ctx context.Context, id string, c job.Change) (api.JobReply, error) {
	rows, err := e.rowsOf(ctx, jobColumns, "--states=all", "--jobs="+id)
	if err != nil {
		return api.JobReply{}, err
	}
	now := sbatch.Current{}
	if len(rows) > 0 {
		now.Comment, now.GPUType = sbatch.ParseComment(rows[0][colComment]), rows[0].job().GPUType
	}
	if c.Priority != nil {
		if err := e.readQOS(ctx, id, &now); err != nil {
			return api.JobReply{}, err
		}
	}
	site, _, err := e.site(ctx, false)
	if err != nil {
		return api.JobReply{}, err
	}
	args, err := sbatch.Update(id, c, now, site)
	if err == nil && c.After != nil {
		err = e.checkDependencies(ctx, *c.After)
	}
	if err != nil {
		return api.JobReply{}, err
	}
	return e.change(ctx, id, "changed", isUnended, args...)
}

// readQOS sets the job's quality of service, if it has one. It also sets the default quality of
// service of the user's jobs.
func (e *Engine) readQOS(ctx context.Context, id string, now *sbatch.Current) error {
	format := "--Format=QOS:" + separator + ",UserName:" + separator + ",Account:" + separator
	out, err := e.slurm.Ask(ctx, "squeue", "--noheader", "--states=all", format, "--jobs="+id)
	if isCode(err, api.CodeNotFound) {
		return nil
	}
	words := strings.Split(strings.TrimSuffix(string(out), "\n"), separator)
	if err != nil || len(words) < 3 {
		return err
	}
	now.QOS = slurmexec.Known(strings.TrimSpace(words[0]))
	if now.QOS == "" {
		return nil
	}
	out, err = e.slurm.Ask(ctx, "sacctmgr", "--noheader", "--parsable2", "show", "assoc", "where",
		"user="+strings.TrimSpace(words[1]), "account="+strings.TrimSpace(words[2]), "format=DefaultQOS,QOS")
	if err != nil {
		return nil // without an answer from the accounting, the default stays unknown
	}
	line, _, _ := strings.Cut(string(out), "\n")
	usual, all, _ := strings.Cut(line, "|")
	if now.DefaultQOS = usual; usual == "" && slices.Contains(strings.Split(all, ","), slurmQOS) {
		now.DefaultQOS = slurmQOS
	}
	return nil
}

// slurmQOS is a job's quality of service if neither its user nor the cluster has a default.
const slurmQOS = "normal"

// cancel ends a job, or only sends it a signal.
func (e *Engine) cancel(ctx context.Context, id string, r api.CancelRequest) (api.JobReply, error) {
	j, err := e.jobByID(ctx, id)
	if err != nil {
		return api.JobReply{}, err
	}
	if e := cannotCancel(&j, id, r.Signal); e != nil {
		return api.JobReply{}, e
	}
	if r.Grace != nil {
		return api.JobReply{}, &api.Error{Code: api.CodeUsage, Message: "Slurm has one time between SIGTERM and SIGKILL for all jobs (KillWait)",
			Hint: "leave --grace and --now out; 'gpusched cancel --signal KILL " + id + "' ends it at once"}
	}
	if _, err := e.slurm.Ask(ctx, "scancel", cancelArgs(r, id)...); err != nil {
		return api.JobReply{}, err
	}
	if r.Signal == 0 {
		if j, err = e.jobByID(ctx, id); err != nil {
			return api.JobReply{}, err
		}
	}
	return api.JobReply{Schema: api.Schema, Job: j}, nil
}

// cannotCancel returns the reason why a job cannot be ended or cannot get a signal, or nil.
func cannotCancel(j *api.Job, id string, signal int) *api.Error {
	switch {
	case j.State.Terminal():
		return alreadyEnded(j, id)
	case signal != 0 && j.State == job.Queued && j.Array == nil:
		return &api.Error{Code: api.CodeConflict, Message: fmt.Sprintf("job %s waits, so there is nothing to send a signal to", id),
			Hint: "'gpusched cancel " + id + "' takes it out of the queue"}
	case signal != 0 && j.Array != nil && j.Array.Live == 0:
		return &api.Error{Code: api.CodeConflict, Message: fmt.Sprintf("no task of job %s runs", id),
			Hint: "'gpusched show " + id + "' lists its tasks"}
	}
	return nil
}

// cancelArgs returns scancel's arguments. A signal goes either only to the batch script, or to the
// script and all its steps.
func cancelArgs(r api.CancelRequest, ids ...string) []string {
	if r.Signal == 0 {
		return ids
	}
	whom := "--full"
	if r.Main {
		whom = "--batch"
	}
	return append([]string{whom, "--signal=" + strconv.Itoa(r.Signal)}, ids...)
}

// cancelSome cancels several jobs with one call of scancel.
func (e *Engine) cancelSome(ctx context.Context, _ api.ManyRequest, ids []string) (part api.ManyPart, err error) {
	before, err := e.lookUp(ctx, ids)
	if err != nil {
		return part, err
	}
	refuse := func(id string, e api.Error) { part.Refused = append(part.Refused, api.RefusedJob{Job: id, Error: e}) }
	var toCancel []string
	for _, id := range ids {
		j, known := before[id]
		if !known {
			refuse(id, api.Error{Code: api.CodeNotFound, Message: "Slurm has no job " + id})
		} else if e := cannotCancel(&j, id, 0); e != nil {
			refuse(id, *e)
		} else {
			toCancel = append(toCancel, id)
		}
	}
	if len(toCancel) == 0 {
		return part, nil
	}
	_, failed := e.slurm.Ask(ctx, "scancel", cancelArgs(api.CancelRequest{}, toCancel...)...)
	after, err := e.lookUp(ctx, toCancel)
	if err != nil {
		return part, err
	}
	for _, id := range toCancel {
		j, known := after[id]
		if failed != nil && known && j.State == before[id].State && isQueued(&j) {
			refuse(id, api.Error{Code: slurmexec.CodeOf(failed.Error()), Message: "job " + id + ": " + failed.Error()})
			continue
		}
		part.Jobs = append(part.Jobs, j)
	}
	return part, nil
}

// isPossible reports whether a command is possible for a job in its present state.
func isPossible(j *api.Job, command job.CommandKind) bool {
	switch command {
	case job.CommandHold:
		return isQueued(j) && j.HeldBy == ""
	case job.CommandRelease:
		return isQueued(j) && j.HeldBy != ""
	case job.CommandPark, job.CommandUnpark:
		return false
	case job.CommandSuspend, job.CommandSignal:
		return isRunning(j) && j.SuspendedAt.IsZero()
	case job.CommandResume:
		return !j.SuspendedAt.IsZero()
	}
	return isUnended(j)
}

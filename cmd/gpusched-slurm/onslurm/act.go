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

// Submit queues one job by sbatch. On a dry run Slurm says when it would start, and nothing is queued. Slurm
// knows no request key: a request that was cut off is not asked again, but looked for (askSbatch), and who asks
// again later looks first (Submitted). An interruption has the number of a job that was made all the same.
func (e *Engine) Submit(ctx context.Context, r api.SubmitRequest) (api.SubmitReply, error) {
	return e.SubmitNoted(ctx, r, func() error { return nil })
}

// SubmitNoted is Submit for one who notes what is done: begins is called when all is ready, just before
// sbatch runs. Before that nothing can have been queued; an error of begins is the answer, and nothing is.
// What the answer of sbatch means is said by Refused.
func (e *Engine) SubmitNoted(
	ctx context.Context, r api.SubmitRequest, begins func() error,
) (api.SubmitReply, error) {
	r.Key = markOf(r.Key)
	s, err := e.ready(ctx, r)
	if err == nil {
		err = begins()
	}
	if err != nil {
		return api.SubmitReply{}, err
	}
	if s.LogDir != "" && !r.DryRun {
		e.makeLogDir(s.LogDir)
	}
	out, err := e.askSbatch(ctx, s, r.Key)
	reply := api.SubmitReply{Schema: api.Schema, Job: e.asked(r)}
	if err != nil {
		if len(out) > 0 {
			reply.Job.ID, _ = e.slurm.SubmittedID(ctx, string(out))
		}
		return reply, err
	}
	if r.DryRun {
		foretold(&reply.Job, string(out))
		return reply, nil
	}
	reply.Job.ID, err = e.slurm.SubmittedID(ctx, string(out))
	return reply, err
}

// ready is all that has to be known before sbatch is asked; what means something else there is told.
func (e *Engine) ready(ctx context.Context, r api.SubmitRequest) (sbatch.Submission, error) {
	s, err := e.submission(ctx, r, sbatch.Command)
	if err == nil {
		err = e.there(ctx, r.After)
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

// makeLogDir makes the directory of a job's output, as Slurm, which makes none, would have the job fail. Where it
// can't be made here, the nodes may have it.
func (e *Engine) makeLogDir(dir string) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		e.note("the directory of --log can't be made here, and Slurm makes none: " + err.Error())
	}
}

// foretold puts in when Slurm says that a job would start: "sbatch: Job 23 to start at 1795464491 using 1
// processors on nodes n1 in partition all".
func foretold(j *api.Job, said string) {
	_, rest, ok := strings.Cut(said, " to start at ")
	when, _, _ := strings.Cut(rest, " using ")
	at := momentOf(when)
	switch {
	case !ok || at.IsZero():
		j.Why = "Slurm does not say when it would start"
	case time.Until(at) > time.Minute:
		j.ExpectedStart, j.Why = at, "what it asks is not free yet"
	default:
		j.State, j.StartedAt = job.Starting, at
	}
}

// submission makes Slurm's words for a request. What is known of the site may be from earlier; where it is
// and the request is refused, it is looked at anew.
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

// asked is a job as it was asked for, which is queued, with what of that keeps it from starting.
func (e *Engine) asked(r api.SubmitRequest) api.Job {
	j := api.Job{Manager: Manager, Engine: e.Names, Label: r.Label, Request: r.Request, User: e.slurm.Variable("USER"), UID: e.uid,
		State: job.Queued, After: r.Request.After, SubmittedAt: time.Now().UTC()}
	j.QueuedAt = j.SubmittedAt
	j.Request.Array, j.Grace, j.Requeue = nil, nil, new(bool) // Slurm decides of the last two
	switch {
	case r.Hold:
		j.HeldBy = j.User
		reasoned(&j, "JobHeldUser", explain("JobHeldUser"))
	case r.Begin.After(j.SubmittedAt):
		reasoned(&j, "BeginTime", beginsAt(r.Begin))
	case len(j.After) > 0:
		reasoned(&j, "Dependency", waitsFor(j.After))
	}
	if array, err := api.Tasks(r.Array); err == nil && array != nil {
		j.Array = &api.Array{Spec: r.Array.Written, Size: array.Size(), Limit: array.Limit}
	}
	return j
}

// change does something to a job that is in such a state, and returns it as it is then.
func (e *Engine) change(
	ctx context.Context, id, verb string, fits func(*api.Job) bool, args ...string,
) (api.JobReply, error) {
	j, err := e.one(ctx, id)
	if err != nil {
		return api.JobReply{}, err
	}
	if j.State.Terminal() {
		return api.JobReply{}, ended(&j, id)
	}
	if !fits(&j) {
		return api.JobReply{}, &api.Error{Code: api.CodeConflict, Message: fmt.Sprintf("job %s can't be %s: it is %s", id, verb, j.State),
			Hint: fmt.Sprintf("see 'gpusched show %s'", id)}
	}
	if _, err := e.slurm.Ask(ctx, "scontrol", args...); err != nil {
		return api.JobReply{}, err
	}
	now, err := e.one(ctx, id)
	return api.JobReply{Schema: api.Schema, Job: now}, err
}

// ended is the refusal of what can't be done to a job any more.
func ended(j *api.Job, id string) *api.Error {
	return &api.Error{Code: api.CodeConflict, Message: fmt.Sprintf("job %s has already ended: %s", id, j.State),
		Hint: fmt.Sprintf("see 'gpusched show %s'", id)}
}

func waits(j *api.Job) bool { return j.State == job.Queued }
func lives(j *api.Job) bool { return !j.State.Terminal() }
func runs(j *api.Job) bool  { return j.State == job.Running }

// update changes a waiting job, or the time limit of a running one, as far as Slurm lets its user.
func (e *Engine) update(ctx context.Context, id string, c job.Change) (api.JobReply, error) {
	rows, err := e.rowsOf(ctx, wholeJob, "--states=all", "--jobs="+id)
	if err != nil {
		return api.JobReply{}, err
	}
	now := sbatch.Now{}
	if len(rows) > 0 {
		now.Said, now.GPUType = sbatch.ParseSaid(rows[0][colComment]), rows[0].job().GPUType
	}
	if c.Priority != nil {
		if err := e.qualities(ctx, id, &now); err != nil {
			return api.JobReply{}, err
		}
	}
	site, _, err := e.site(ctx, false)
	if err != nil {
		return api.JobReply{}, err
	}
	args, err := sbatch.Update(id, c, now, site)
	if err == nil && c.After != nil {
		err = e.there(ctx, *c.After)
	}
	if err != nil {
		return api.JobReply{}, err
	}
	return e.change(ctx, id, "changed", lives, args...)
}

// qualities puts in the quality of service of a job, where it has one, and that of its user's jobs that ask none.
func (e *Engine) qualities(ctx context.Context, id string, now *sbatch.Now) error {
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
		return nil // there is no accounting, or it does not tell
	}
	line, _, _ := strings.Cut(string(out), "\n")
	usual, all, _ := strings.Cut(line, "|")
	if now.Usual = usual; usual == "" && slices.Contains(strings.Split(all, ","), slurmQOS) {
		now.Usual = slurmQOS
	}
	return nil
}

// slurmQOS is the quality of service that Slurm gives a job where neither its user nor the cluster has another one.
const slurmQOS = "normal"

// cancel ends a job, or with a signal only sends it.
func (e *Engine) cancel(ctx context.Context, id string, r api.CancelRequest) (api.JobReply, error) {
	j, err := e.one(ctx, id)
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
		if j, err = e.one(ctx, id); err != nil {
			return api.JobReply{}, err
		}
	}
	return api.JobReply{Schema: api.Schema, Job: j}, nil
}

// cannotCancel is why a job can't be ended or sent a signal, nil where it can.
func cannotCancel(j *api.Job, id string, signal int) *api.Error {
	switch {
	case j.State.Terminal():
		return ended(j, id)
	case signal != 0 && j.State == job.Queued && j.Array == nil:
		return &api.Error{Code: api.CodeConflict, Message: fmt.Sprintf("job %s waits, so there is nothing to send a signal to", id),
			Hint: "'gpusched cancel " + id + "' takes it out of the queue"}
	case signal != 0 && j.Array != nil && j.Array.Live == 0:
		return &api.Error{Code: api.CodeConflict, Message: fmt.Sprintf("no task of job %s runs", id),
			Hint: "'gpusched show " + id + "' lists its tasks"}
	}
	return nil
}

// cancelArgs has a signal reach the job's own process, alone or as well as its steps.
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

// cancelSome cancels jobs in one call.
func (e *Engine) cancelSome(ctx context.Context, _ api.ManyRequest, ids []string) (part api.ManyPart, err error) {
	before, err := e.lookUp(ctx, ids)
	if err != nil {
		return part, err
	}
	refuse := func(id string, e api.Error) { part.Refused = append(part.Refused, api.RefusedJob{Job: id, Error: e}) }
	var doomed []string
	for _, id := range ids {
		j, known := before[id]
		if !known {
			refuse(id, api.Error{Code: api.CodeNotFound, Message: "Slurm has no job " + id})
		} else if e := cannotCancel(&j, id, 0); e != nil {
			refuse(id, *e)
		} else {
			doomed = append(doomed, id)
		}
	}
	if len(doomed) == 0 {
		return part, nil
	}
	_, failed := e.slurm.Ask(ctx, "scancel", cancelArgs(api.CancelRequest{}, doomed...)...)
	after, err := e.lookUp(ctx, doomed)
	if err != nil {
		return part, err
	}
	for _, id := range doomed {
		j, known := after[id]
		if failed != nil && known && j.State == before[id].State && waits(&j) {
			refuse(id, api.Error{Code: slurmexec.CodeOf(failed.Error()), Message: "job " + id + ": " + failed.Error()})
			continue
		}
		part.Jobs = append(part.Jobs, j)
	}
	return part, nil
}

// takes reports whether a command can be done to a job.
func takes(j *api.Job, command job.CommandKind) bool {
	switch command {
	case job.CommandHold:
		return waits(j) && j.HeldBy == ""
	case job.CommandRelease:
		return waits(j) && j.HeldBy != ""
	case job.CommandSuspend, job.CommandSignal:
		return runs(j) && j.SuspendedAt.IsZero()
	case job.CommandResume:
		return !j.SuspendedAt.IsZero()
	}
	return lives(j)
}

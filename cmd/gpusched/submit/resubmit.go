package submit

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/act"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// ResubmitCmd queues ended jobs again.
type ResubmitCmd struct {
	Failed bool       `name:"failed" group:"self"`
	Change job.Change `embed:""`
	notifyOptions
	cli.OutputFlags

	IDs []string `arg:"" name:"id" help:"The jobs."`
}

func (*ResubmitCmd) About() cli.About {
	return cli.About{
		Host: cli.RunThere, Hosts: cli.OneAtATime, Jobs: cli.OneAtATime, Usual: true,
		Slurm: cli.NotForSlurm("Slurm does not keep the environment that a job was submitted with",
			"submit it again, or 'gpusched requeue' for the same job once more"),
		Offers: cli.Offers{Fits: func(j api.Job) bool { return j.State.Terminal() || j.Array != nil }, Ended: true,
			Own: true},
	}
}

// A Resubmission is a job, an array or some tasks of an array. It is queued again as one job.
type Resubmission struct {
	Of      api.Job
	Results *api.Results // results of the array's tasks
	named   bool         // the user named single tasks
	Tasks   []int        // the array's tasks to queue again
	Runs    []string     // the same tasks written as ranges, such as 3-7
}

func (c *ResubmitCmd) Run(ctx context.Context, a *cli.App) error {
	list, err := c.collect(ctx, a)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		a.Note("none of them has failed: nothing is queued")
	}
	var jobs []api.Job
	var failed error
	from := map[job.ID]string{}
	for _, r := range list {
		req, err := c.Request(a, r)
		if err != nil {
			failed = err
			break
		}
		a.RestoreLimits()
		reply, err := a.Client.Submit(ctx, req)
		if err != nil {
			failed = err
			break
		}
		jobs = append(jobs, reply.Job)
		from[reply.Job.ID] = cli.NameOfJob(r.Of)
	}
	if failed != nil && len(jobs) == 0 {
		return failed
	}
	err = act.ShowActed(a, c.OutputFlags, jobs, func(j api.Job) string {
		return "queued, as job " + term.Clean(from[j.ID]) + " again" + act.QueuePosition(a, j)
	})
	return cmp.Or(failed, err) // the queued jobs have been printed
}

// collect looks up the ids. Tasks of the same array become one resubmission.
func (c *ResubmitCmd) collect(ctx context.Context, a *cli.App) ([]*Resubmission, error) {
	ids, err := a.Resolve(ctx, c.IDs)
	if err != nil {
		return nil, err
	}
	var list []*Resubmission
	named := map[string][]int{} // maps an array to its named tasks
	for _, id := range ids {
		array, task, isTask := strings.Cut(id, "_")
		if isTask {
			index, err := strconv.Atoi(task)
			if err != nil {
				return nil, cli.Usagef("%q is not a task", id)
			}
			if id = array; named[array] != nil {
				named[array] = append(named[array], index)
				continue
			}
			named[array] = []int{index}
		}
		reply, err := api.Show(ctx, a.Client, id, api.JobQuery{Results: true})
		if err != nil {
			return nil, err
		}
		list = append(list, &Resubmission{Of: reply.Job, Results: reply.Results, named: isTask})
	}
	var chosen []*Resubmission
	for _, r := range list {
		if r.named {
			r.Tasks = named[r.Of.ID.String()]
		}
		wanted, err := c.choose(a, r)
		if err != nil {
			return nil, err
		}
		if wanted {
			chosen = append(chosen, r.divide()...)
		}
	}
	return chosen, nil
}

// choose reports whether anything must be queued again. For an array, it also selects the tasks. It
// refuses jobs that have not ended. It also refuses other users' jobs, since a job always runs as
// the user who submits it.
func (c *ResubmitCmd) choose(a *cli.App, r *Resubmission) (bool, error) {
	j := r.Of
	switch {
	case !a.Owns(&j):
		return false, cli.Refuse(api.CodeForbidden, "a job runs as the user who submits it: ask them to resubmit it",
			"job %s belongs to %s", cli.NameOfJob(j), j.User)
	case j.Array == nil && r.named:
		return false, cli.NotFoundf("job %s is not an array, so it has no task %d", cli.NameOfJob(j), r.Tasks[0])
	case !j.State.Terminal() && (j.Array == nil || !c.Failed && !r.named):
		return false, notEnded("job "+cli.NameOfJob(j), j.State)
	case j.Array == nil:
		return !c.Failed || isFailed(j.State), nil
	}
	return c.chooseTasks(a, r)
}

// chooseTasks selects the tasks of an array that run again.
func (c *ResubmitCmd) chooseTasks(a *cli.App, r *Resubmission) (bool, error) {
	states := map[int]job.State{}
	for _, g := range append(r.Results.Tasks, api.TaskGroup{Tasks: r.Results.ForgottenTasks}) {
		list, err := job.ParseTasks(g.Tasks)
		if err != nil {
			return false, err
		}
		for _, index := range list {
			states[index] = g.State
		}
	}
	if c.Failed && r.Results.Forgotten > 0 {
		a.Note("it is no longer known how %s of array %d ended; name the tasks to run again, without --failed",
			cli.Count(r.Results.Forgotten, "task"), r.Of.ID)
	}
	chosen := r.Tasks
	if !r.named {
		chosen = slices.Sorted(maps.Keys(states))
	}
	r.Tasks = nil
	for _, index := range chosen {
		name := job.Task{Array: r.Of.ID, Index: index}
		switch state, known := states[index]; {
		case !known:
			return false, cli.NotFoundf("there is no task %v: array %d is %s", name, r.Of.ID, r.Of.Array.Spec)
		case state == "" && !c.Failed, state.Terminal() && (!c.Failed || isFailed(state)):
			r.Tasks = append(r.Tasks, index)
		case r.named && state != "" && !state.Terminal():
			return false, notEnded("task "+name.String(), state)
		}
	}
	slices.Sort(r.Tasks)
	r.Tasks = slices.Compact(r.Tasks)
	return len(r.Tasks) > 0, nil
}

func notEnded(what string, state job.State) error {
	return cli.Refuse(api.CodeConflict, "'gpusched requeue' stops a running job and queues it again",
		"%s has not ended: it is %s", what, state)
}

// isFailed reports whether a job has ended but was neither completed nor cancelled.
func isFailed(state job.State) bool {
	return state.Terminal() && state != job.Completed && state != job.Cancelled
}

// divide splits the tasks into arrays that have at most job.MaxRanges ranges each.
func (r *Resubmission) divide() (list []*Resubmission) {
	if r.Of.Array == nil {
		return []*Resubmission{r}
	}
	for runs := range slices.Chunk(job.TaskRuns(r.Tasks), job.MaxRanges) {
		list = append(list, &Resubmission{Of: r.Of, Runs: runs})
	}
	return list
}

// keptCommand is how many bytes of an ended job's command the scheduler keeps.
const keptCommand = 4096

// isCut reports whether the scheduler kept only the beginning of a command.
func isCut(argv []string) bool {
	whole := strings.Join(argv, "\x00")
	return len(argv) == 0 || len(whole) >= keptCommand && strings.HasSuffix(whole, "…")
}

// Request returns a request for the same command in the same directory, with the changes that the
// options make. The scheduler deletes the environment of an ended job, so the new job gets the
// current one.
func (c *ResubmitCmd) Request(a *cli.App, r *Resubmission) (api.SubmitRequest, error) {
	j, p := r.Of, r.Of.Private
	if p == nil {
		return api.SubmitRequest{}, cli.Refuse(api.CodeConflict, "submit it again",
			"the command of job %s can't be read any more", cli.NameOfJob(j))
	}
	if p.SetupCut {
		return api.SubmitRequest{}, cli.Refuse(api.CodeConflict,
			"submit it again; a long set-up is not kept once its job has ended",
			"the set-up of job %s was not kept", cli.NameOfJob(j))
	}
	if j.State.Terminal() && isCut(p.Argv) {
		return api.SubmitRequest{}, cli.Refuse(api.CodeConflict,
			"submit it again; only the beginning of a long command is kept once its job has ended",
			"the command of job %s was not kept whole", cli.NameOfJob(j))
	}
	if copied := p.Snapshot; !copied.IsZero() && !jobenv.IsThere(copied.Dir, contract.SnapshotMade) {
		return api.SubmitRequest{}, cli.Refuse(api.CodeConflict, "submit it again, with the code as it is now",
			"the copy of the code of job %s is gone", cli.NameOfJob(j))
	}
	s := job.Submission{Label: j.Label, Request: j.Request}
	s.Request.Grace = new(j.GraceTime()) // an explicit 0 differs from the site's default
	s.Request.Requeue = new(j.MayRequeue())
	if s.Request.Hold, s.Request.Dedup = false, ""; j.MemDefaulted {
		s.Request.MemBytes = 0
	}
	s.Request.Begin, s.Request.After = time.Time{}, nil // the jobs that it waited for have ended
	if err := c.notify(&s.Request, p); err != nil {
		return api.SubmitRequest{}, err
	}
	if j.GPUMemAuto {
		s.Request.GPUMemBytes = job.AutoGPUMem
	}
	if c.Change.Apply(&s); s.Request.Retries == 0 {
		s.Request.Retries = job.NoRetries // otherwise the job would get the site's default
	}
	program := p.Program
	if j.State.Terminal() {
		program.Env = jobenv.Environ(p.EnvMode, nil, a.Environ)
		if !p.Container.IsZero() {
			program.Env = jobenv.ImageEnviron(nil, a.Environ)
		}
	}
	program.Log.Path = cmp.Or(p.LogPattern, p.Log.Path, job.NoLog)
	s.Request.Array = r.array(&c.Change)
	return api.SubmitRequest{
		Key: api.NewKey(), Label: s.Label, Request: s.Request,
		Program: program,
	}, nil
}

// notify sets the notifications that the options request, or else those of the original job.
func (c *ResubmitCmd) notify(r *job.Request, p *api.Private) (err error) {
	if len(c.NotifyWhen)+len(c.NotifyTo) > 0 {
		r.Notify, err = c.notifications()
		return err
	}
	for i, to := range p.NotifyTo {
		if i < len(r.Notify) {
			r.Notify[i].To = to
		}
	}
	return nil
}

// array returns the tasks with their original numbers, so that each task gets its own parameters.
func (r *Resubmission) array(ch *job.Change) *job.Array {
	a := r.Of.Array
	if a == nil {
		return nil
	}
	spec, limit := strings.Join(r.Runs, ","), a.Limit
	if ch.ArrayLimit != nil {
		limit = *ch.ArrayLimit
	}
	if limit > 0 {
		spec += "%" + strconv.Itoa(limit)
	}
	return &job.Array{Written: spec, Params: r.Of.Private.Params}
}

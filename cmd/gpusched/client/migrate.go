package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/onslurm"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// migrateCmd moves waiting jobs to another engine. Each is held here, submitted there
// once, and cancelled here. It can be killed at any point and run again: what is noted,
// here and in the tags of the jobs there, says how far each one was.
type migrateCmd struct {
	To     string   `name:"to" placeholder:"ENGINE" required:"" enum:"slurm" group:"self" help:"Where to: slurm."`
	Mine   bool     `name:"mine" group:"self" help:"All your jobs that wait."`
	DryRun bool     `name:"dry-run" group:"self" brief:"Move nothing; ask Slurm whether it takes each job" help:"Move nothing; ask Slurm whether it would take each job."`
	IDs    []string `arg:"" optional:"" name:"id" help:"The jobs."`
}

// migration is one run of it.
type migration struct {
	a      *app
	here   *api.Client
	there  *onslurm.Engine
	log    *moveLog
	host   string
	conf   string // SLURM_CONF, which chooses the cluster
	dryRun bool
	live   liveJobs
	failed error
}

// moving is one job on its way.
type moving struct {
	job  api.Job
	key  string
	held bool // by its owner
	req  api.SubmitRequest
}

// movedTag is the tag by which a job of Slurm's is known to be one of ours.
const movedTag = "moved"

func (c *migrateCmd) Run(ctx context.Context, a *app) error {
	if c.Mine == (len(c.IDs) > 0) {
		return usagef("name the jobs, or --mine for all of yours: gpusched migrate --to slurm --mine")
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	m := &migration{a: a, here: a.daemon(), there: onslurm.New(a.environ, a.uid, a.noteOnce), host: plainHost(host)}
	m.conf, m.dryRun = a.getenv("SLURM_CONF"), c.DryRun
	if m.log, err = a.openMoves(); err != nil {
		return err
	}
	defer m.log.close()
	list, err := m.choose(ctx, c)
	if err != nil {
		return err
	}
	if c.DryRun {
		return m.rehearse(ctx, list)
	}
	a.restoreLimits()
	return m.move(ctx, list)
}

// plainHost is a host's name as a tag may have it.
func plainHost(host string) string {
	host, _, _ = strings.Cut(strings.ToLower(host), ".")
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '-'
	}, host)
}

// keyOf names a job for all time: numbers begin anew where a state file is lost.
func (m *migration) keyOf(j *api.Job) string {
	return fmt.Sprintf("%s.%d.%d", m.host, j.ID, j.SubmittedAt.Unix())
}

// choose finds the jobs that are to be moved, in the order of their numbers, which is one
// in which no job waits for a later one. Those that can't be are named.
func (m *migration) choose(ctx context.Context, c *migrateCmd) (list []*moving, err error) {
	ids := c.IDs
	if c.Mine {
		reply, err := m.here.List(ctx, api.ListQuery{UID: &m.a.uid, States: []job.State{job.Queued}})
		if err != nil {
			return nil, err
		}
		for _, j := range reply.Jobs {
			if j.Task == nil {
				ids = append(ids, j.ID.String())
			}
		}
	} else if ids, err = m.a.resolve(ctx, ids); err != nil {
		return nil, err
	}
	var found []api.JobReply
	for _, id := range ids {
		reply, err := m.here.Results(ctx, id)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			m.refuse(id, err)
			continue
		}
		found = append(found, reply)
	}
	if m.live, err = m.look(ctx); err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(x, y api.JobReply) int { return cmp.Compare(x.Job.ID, y.Job.ID) })
	for _, reply := range found {
		mv, err := m.prepare(reply)
		if err != nil {
			m.stays(ctx, reply.Job, err)
			continue
		}
		list = append(list, mv)
	}
	return m.together(ctx, list), nil
}

// refuse says why a job stays.
func (m *migration) refuse(name string, err error) {
	m.fail(err, "job %s stays here: %v", name, err)
}

// fail says what went wrong.
func (m *migration) fail(err error, format string, args ...any) {
	code := api.CodeInternal
	if e := (*api.Error)(nil); errors.As(err, &e) {
		code = e.Code
	}
	m.failed = cmp.Or(m.failed, error(exitStatus(code.ExitStatus())))
	m.a.complain(term.Clean(fmt.Sprintf(format, args...)))
}

// prepare makes the request for a job.
func (m *migration) prepare(reply api.JobReply) (*moving, error) {
	j := reply.Job
	mv := &moving{job: j, key: m.keyOf(&j), held: j.HeldBy != ""}
	line, known := m.log.lines[mv.key]
	if known && mv.held { // by its owner, or by an earlier run
		mv.held = line.Held
	}
	_, tagged := j.Tags[movedTag]
	switch {
	case !m.a.owns(&j):
		return nil, refuse(api.CodeForbidden, "a job runs as who submits it: let them move it", "it is of %s", j.User)
	case j.Task != nil:
		return nil, refuse(api.CodeUsage, "name the array, "+j.Task.Array.String(), "a task moves with its array")
	case j.State != job.Queued:
		return nil, refuse(api.CodeConflict, "only what waits can be moved", "it is %s", j.State)
	case j.Private == nil:
		return nil, refuse(api.CodeConflict, "submit it there yourself", "its command can't be read any more")
	case j.Private.TTY:
		return nil, refuse(api.CodeUsage, "end it, and use 'gpusched run --on slurm'", "a terminal here waits for it")
	case tagged:
		return nil, refuse(api.CodeUsage, "submit it there yourself, without that tag", "it has a tag %s, by which a job that was moved is known", movedTag)
	}
	r := &again{of: j, results: reply.Results}
	if j.Array != nil {
		if err := r.all(); err != nil {
			return nil, err
		}
	}
	req, err := (&resubmitCmd{}).request(m.a, r)
	if err != nil {
		return nil, err
	}
	req.Request.Begin, req.Request.GPUMemBytes, req.Request.Hold = j.Begin, j.GPUMemBytes, mv.held
	req.Label.Tags = map[string]string{}
	maps.Copy(req.Label.Tags, j.Tags)
	req.Label.Tags[movedTag] = mv.key
	mv.req = req
	return mv, nil
}

// all has every task of an array, none of which may have started.
func (r *again) all() error {
	for _, g := range append(r.results.Tasks, api.TaskGroup{Tasks: r.results.ForgottenTasks, State: job.Completed}) {
		list, err := job.ParseTasks(g.Tasks)
		if err != nil && g.Tasks != "" {
			return err
		}
		if g.State != "" && g.State != job.Queued && len(list) > 0 {
			return refuse(api.CodeConflict, "what is left of it can be moved when they have ended: 'gpusched cancel' it, then 'gpusched resubmit' tasks on Slurm",
				"%s of the array have started", count(len(list), "task"))
		}
		r.tasks = append(r.tasks, list...)
	}
	slices.Sort(r.tasks)
	r.tasks = slices.Compact(r.tasks)
	runs := job.TaskRuns(r.tasks)
	if len(runs) > job.MaxRanges {
		return refuse(api.CodeUsage, "submit it there in parts", "its numbers have more than %d gaps", job.MaxRanges)
	}
	r.runs = runs
	return nil
}

// rehearse asks Slurm about each job.
func (m *migration) rehearse(ctx context.Context, list []*moving) error {
	for _, mv := range list {
		req := mv.req
		req.DryRun = true
		if _, err := m.there.Submit(ctx, req); err != nil {
			m.refuse(nameOfJob(mv.job), err)
			continue
		}
		m.a.out.Printf("job %s would be moved\n", nameOfJob(mv.job))
	}
	return m.failed
}

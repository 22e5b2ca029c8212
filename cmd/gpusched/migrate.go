//go:build !quick

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/onslurm"
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
	DryRun bool     `name:"dry-run" group:"self" help:"Move nothing; ask Slurm whether it would take each job."`
	IDs    []string `arg:"" optional:"" name:"id" help:"The jobs."`
}

// migration is one run of it.
type migration struct {
	a      *app
	here   *api.Client
	there  *onslurm.Engine
	log    *moveLog
	host   string
	failed error
}

// moving is one job on its way.
type moving struct {
	job api.Job
	key string
	req api.SubmitRequest
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
	if m.log, err = a.openMoves(); err != nil {
		return err
	}
	defer m.log.file.Close()
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

func hostOfKey(key string) string { return key[:max(0, strings.IndexByte(key, '.'))] }

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
	chosen := map[job.ID]bool{}
	var found []api.JobReply
	for _, id := range ids {
		reply, err := m.here.Results(ctx, id)
		if err != nil {
			m.refuse(id, err)
			continue
		}
		found, chosen[reply.Job.ID] = append(found, reply), true
	}
	slices.SortFunc(found, func(x, y api.JobReply) int { return cmp.Compare(x.Job.ID, y.Job.ID) })
	for _, reply := range found {
		mv, err := m.prepare(reply, chosen)
		if err != nil {
			delete(chosen, reply.Job.ID) // what waits for it stays, too
			m.refuse(nameOfJob(reply.Job), err)
			continue
		}
		list = append(list, mv)
	}
	return list, nil
}

// refuse says why a job stays.
func (m *migration) refuse(name string, err error) {
	code := api.CodeInternal
	if e := (*api.Error)(nil); errors.As(err, &e) {
		code = e.Code
	}
	m.failed = cmp.Or(m.failed, error(exitStatus(code.ExitStatus())))
	m.a.complain(fmt.Sprintf("job %s stays here: %s", term.Clean(name), term.Clean(err.Error())))
}

// prepare makes the request for a job. Of what it waits for, all has to be moved as well.
func (m *migration) prepare(reply api.JobReply, chosen map[job.ID]bool) (*moving, error) {
	j := reply.Job
	switch {
	case j.UID != m.a.uid:
		return nil, refuse(api.CodeForbidden, "a job runs as who submits it: let them move it", "it is of %s", j.User)
	case j.Task != nil:
		return nil, refuse(api.CodeUsage, "name the array, "+j.Task.Array.String(), "a task moves with its array")
	case j.State != job.Queued:
		return nil, refuse(api.CodeConflict, "only what waits can be moved", "it is %s", j.State)
	case j.Private == nil:
		return nil, refuse(api.CodeConflict, "submit it there yourself", "its command can't be read any more")
	case j.Private.TTY:
		return nil, refuse(api.CodeUsage, "end it, and use 'gpusched run --on slurm'", "a terminal here waits for it")
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
	req.Request.Begin, req.Request.GPUMemBytes, req.Request.Hold = j.Begin, j.GPUMemBytes, j.HeldBy != ""
	for _, d := range j.After {
		if !chosen[d.Job] && m.log.moved(m.host, d.Job) == 0 {
			return nil, refuse(api.CodeConflict, "move that one, too, or wait for its end", "it waits for job %d, which stays", d.Job)
		}
	}
	mv := &moving{job: j, key: m.keyOf(&j), req: req}
	if line, known := m.log.lines[mv.key]; known { // an earlier run has held it
		mv.req.Request.Hold = line.Held
	}
	mv.req.Label.Tags = map[string]string{movedTag: mv.key}
	for name, value := range j.Tags {
		mv.req.Label.Tags[name] = value
	}
	return mv, nil
}

// all has every task of an array, none of which may have started.
func (r *again) all() error {
	if r.results == nil {
		return refuse(api.CodeInternal, "restart the scheduler: systemctl restart gpusched", "the scheduler is older than this program")
	}
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

// move holds all, submits each in order, and cancels here, the last one first: so none is
// told that what it waited for is gone.
func (m *migration) move(ctx context.Context, list []*moving) error {
	var held []*moving
	for _, mv := range list {
		if err := m.hold(ctx, mv); err != nil {
			m.refuse(nameOfJob(mv.job), err)
			continue
		}
		held = append(held, mv)
	}
	var done []*moving
	for _, mv := range held {
		if err := m.submit(ctx, mv); err != nil {
			m.refuse(nameOfJob(mv.job), err)
			m.letGo(ctx, mv, err)
			continue
		}
		done = append(done, mv)
		m.a.out.Printf("job %s is slurm:%d\n", nameOfJob(mv.job), m.log.lines[mv.key].Slurm)
	}
	for _, mv := range slices.Backward(done) {
		if err := m.leave(ctx, mv); err != nil {
			m.refuse(nameOfJob(mv.job), fmt.Errorf("it is slurm:%d now, and is still held here: run the same command again (%w)", m.log.lines[mv.key].Slurm, err))
		}
	}
	return m.failed
}

// hold notes that a job is to be moved, then holds it, so that it does not start here.
func (m *migration) hold(ctx context.Context, mv *moving) error {
	if _, known := m.log.lines[mv.key]; !known {
		line := moveLine{Key: mv.key, Job: mv.job.ID, At: time.Now(), Held: mv.job.HeldBy != ""}
		if err := m.log.note(line); err != nil {
			return err
		}
	}
	if mv.job.HeldBy != "" {
		return nil
	}
	reply, err := m.here.Hold(ctx, mv.job.ID.String())
	if err != nil {
		return err
	}
	if reply.Job.State != job.Queued || reply.Job.HeldBy == "" {
		return refuse(api.CodeConflict, "only what waits can be moved", "it is %s", reply.Job.State)
	}
	return nil
}

// submit has the job in Slurm once: as it was found there, or now.
func (m *migration) submit(ctx context.Context, mv *moving) error {
	line := m.log.lines[mv.key]
	if line.Slurm != 0 {
		return nil
	}
	id, sure, err := m.there.Moved(ctx, movedTag, mv.key, line.At)
	if err != nil {
		return err
	}
	if id == 0 && !sure {
		return refuse(api.CodeConflict, "see 'gpusched list --on slurm' and 'sacct'; if it is not there, release it here, or submit it there",
			"an earlier run was cut off at %s, and whether it submitted this job Slurm does not know any more; it is held here",
			line.At.Local().Format(time.DateTime))
	}
	if id == 0 {
		req := mv.req
		req.Request.After = nil
		for _, d := range mv.job.After {
			to := m.log.moved(m.host, d.Job)
			if to == 0 {
				return refuse(api.CodeConflict, "run it again when that one is moved", "it waits for job %d, which stays", d.Job)
			}
			req.Request.After = append(req.Request.After, job.Dependency{Kind: d.Kind, Job: to})
		}
		reply, err := m.there.Submit(ctx, req)
		if err != nil {
			return err
		}
		id = reply.Job.ID
	}
	line.Slurm = id
	return m.log.note(line)
}

// letGo lets a job wait here as before that Slurm has refused. Where it is not known what
// Slurm did, it stays held.
func (m *migration) letGo(ctx context.Context, mv *moving, err error) {
	var e *api.Error
	refusals := []api.Code{api.CodeUsage, api.CodeForbidden, api.CodeNever, api.CodePolicy}
	certain := errors.As(err, &e) && slices.Contains(refusals, e.Code)
	if !certain || m.log.lines[mv.key].Held {
		return
	}
	if _, err := m.here.Release(ctx, mv.job.ID.String()); err != nil {
		m.refuse(nameOfJob(mv.job), fmt.Errorf("it is held: 'gpusched release %s' (%w)", nameOfJob(mv.job), err))
	}
}

// leave cancels a job here, with where it has gone in its comment.
func (m *migration) leave(ctx context.Context, mv *moving) error {
	id := mv.job.ID.String()
	comment := fmt.Sprintf("moved to slurm:%d", m.log.lines[mv.key].Slurm)
	if was := mv.job.Comment; was != "" && !strings.HasPrefix(was, comment) {
		comment += "; " + was
	}
	if _, err := m.here.Update(ctx, id, job.Change{Comment: &comment}); err != nil {
		return err
	}
	_, err := m.here.Cancel(ctx, id, api.CancelRequest{})
	return err
}

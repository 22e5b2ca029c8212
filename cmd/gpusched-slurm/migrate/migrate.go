package migrate

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
	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// A migration is one run of the command.
type migration struct {
	s      engines.Shell
	there  *onslurm.Engine
	log    *moveLog
	host   string
	conf   string // SLURM_CONF, which selects the cluster
	dryRun bool
	live   liveJobs
	stays  api.Code // error code of the first job that stays
}

// A movedJob is a job that this run moves.
type movedJob struct {
	job  api.Job
	key  string
	held bool // its owner had already held it
	req  api.SubmitRequest
}

// movedTag is a tag in Slurm. Jobs that were moved from this machine have it.
const movedTag = "moved"

// Run moves waiting jobs to Slurm. It holds each job here, submits it there once, and cancels it
// here. It can be killed at any point and run again: its log here and the tags of the jobs there
// record the progress of each job. It reports each job that it does not move, and returns the error
// code of the first such job.
func Run(ctx context.Context, s engines.Shell, move engines.Move) (stays api.Code, err error) {
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	m := &migration{s: s, there: onslurm.New(s.Environ, s.UID, s.NoteOnce), host: tagHost(host)}
	m.conf, m.dryRun = engines.Variable(s.Environ, "SLURM_CONF"), move.DryRun
	if m.log, err = openMoves(&s); err != nil {
		return "", err
	}
	defer m.log.close()
	list, err := m.choose(ctx, move)
	switch {
	case err != nil:
	case move.Mine && len(list) == 0 && m.stays == "":
		s.Note("you have no waiting job")
	case move.DryRun:
		m.dryRunAll(ctx, list)
	default:
		err = m.moveAll(ctx, list)
	}
	return m.stays, err
}

// tagHost returns the host's name with only the characters that a tag may have.
func tagHost(host string) string {
	host, _, _ = strings.Cut(strings.ToLower(host), ".")
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '-'
	}, host)
}

// keyOf returns a key that no other job ever has. An id is
// not enough: ids begin at 1 again if a state file is lost.
func (m *migration) keyOf(j *api.Job) string {
	return fmt.Sprintf("%s.%d.%d", m.host, j.ID, j.SubmittedAt.Unix())
}

// choose returns the jobs to move, ordered by id. A job therefore never waits for a later job of
// the list. choose reports the jobs that cannot be moved.
func (m *migration) choose(ctx context.Context, move engines.Move) (list []*movedJob, err error) {
	ids := move.IDs
	if move.Mine {
		reply, err := api.List(ctx, m.s.Here, api.ListQuery{UID: &m.s.UID, States: []job.State{job.Queued}})
		if err != nil {
			return nil, err
		}
		for _, j := range reply.Jobs {
			if j.Task == nil {
				ids = append(ids, j.ID.String())
			}
		}
	} else if ids, err = m.s.Resolve(ctx, ids); err != nil {
		return nil, err
	}
	var found []api.JobReply
	for _, id := range ids {
		reply, err := api.Show(ctx, m.s.Here, id, api.JobQuery{Results: true})
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			m.refuse(id, err)
			continue
		}
		found = append(found, reply)
	}
	if m.live, err = m.listLive(ctx); err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(x, y api.JobReply) int { return cmp.Compare(x.Job.ID, y.Job.ID) })
	for _, reply := range found {
		mv, err := m.prepare(reply)
		if err != nil {
			m.reportUnmoved(ctx, reply.Job, err)
			continue
		}
		list = append(list, mv)
	}
	return m.dropTied(ctx, list), nil
}

// refuse reports why a job stays.
func (m *migration) refuse(name string, err error) {
	m.fail(err, "job %s stays here: %v", name, err)
}

// fail reports an error and remembers the code of the first error.
func (m *migration) fail(err error, format string, args ...any) {
	code := api.CodeInternal
	if e := (*api.Error)(nil); errors.As(err, &e) {
		code = e.Code
	}
	m.stays = cmp.Or(m.stays, code)
	m.s.Complain(format, args...)
}

// prepare makes the request for a job, or returns the reason why the job cannot be moved.
func (m *migration) prepare(reply api.JobReply) (*movedJob, error) {
	j := reply.Job
	mv := &movedJob{job: j, key: m.keyOf(&j), held: j.HeldBy != ""}
	line, known := m.log.lines[mv.key]
	if known && mv.held { // this hold may come from an earlier run of migrate
		mv.held = line.Held
	}
	_, tagged := j.Tags[movedTag]
	switch {
	case j.UID != m.s.UID || j.UIDNow != "":
		return nil, engines.Refuse(api.CodeForbidden, "a job runs as the user who submits it: let them move it", "it belongs to %s", j.User)
	case j.Task != nil:
		return nil, engines.Refuse(api.CodeUsage, "name the array, "+j.Task.Array.String(), "a task moves with its array")
	case j.State != job.Queued:
		return nil, engines.Refuse(api.CodeConflict, "only waiting jobs can be moved", "it is %s", j.State)
	case j.Private == nil:
		return nil, engines.Refuse(api.CodeConflict, "submit it there yourself", "its command can no longer be read")
	case j.Private.TTY:
		return nil, engines.Refuse(api.CodeUsage, "end it, and use 'gpusched run --on slurm'", "a terminal here waits for it")
	case tagged:
		return nil, engines.Refuse(api.CodeUsage, "submit it there yourself, without that tag", "it has a tag %s, which marks jobs that were moved", movedTag)
	}
	req, err := m.s.Request(reply)
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

// dryRunAll asks Slurm whether it would accept each job.
func (m *migration) dryRunAll(ctx context.Context, list []*movedJob) {
	for _, mv := range list {
		req := mv.req
		req.DryRun = true
		if _, err := m.there.Submit(ctx, req); err != nil {
			m.refuse(mv.job.Called(), err)
			continue
		}
		m.s.Printf("job %s would be moved\n", mv.job.Called())
	}
}

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

// migration is one run of it.
type migration struct {
	s      engines.Shell
	there  *onslurm.Engine
	log    *moveLog
	host   string
	conf   string // SLURM_CONF, which chooses the cluster
	dryRun bool
	live   liveJobs
	stays  api.Code // of the first job that does not move
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

// Run moves waiting jobs to Slurm. Each is held here, submitted there once, and cancelled here. It can be killed at
// any point and run again: what is noted, here and in the tags of the jobs there, says how far each one was. It returns
// the code of the first one that stays, which has been said.
func Run(ctx context.Context, s engines.Shell, move engines.Move) (stays api.Code, err error) {
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	m := &migration{s: s, there: onslurm.New(s.Environ, s.UID, s.NoteOnce), host: plainHost(host)}
	m.conf, m.dryRun = engines.Variable(s.Environ, "SLURM_CONF"), move.DryRun
	if m.log, err = openMoves(&s); err != nil {
		return "", err
	}
	defer m.log.close()
	list, err := m.choose(ctx, move)
	switch {
	case err != nil:
	case move.Mine && len(list) == 0 && m.stays == "":
		s.Note("you have no job that waits")
	case move.DryRun:
		m.rehearse(ctx, list)
	default:
		err = m.move(ctx, list)
	}
	return m.stays, err
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
func (m *migration) choose(ctx context.Context, move engines.Move) (list []*moving, err error) {
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
	if m.live, err = m.look(ctx); err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(x, y api.JobReply) int { return cmp.Compare(x.Job.ID, y.Job.ID) })
	for _, reply := range found {
		mv, err := m.prepare(reply)
		if err != nil {
			m.stay(ctx, reply.Job, err)
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
	m.stays = cmp.Or(m.stays, code)
	m.s.Complain(format, args...)
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
	case j.UID != m.s.UID || j.UIDNow != "":
		return nil, engines.Refuse(api.CodeForbidden, "a job runs as the user who submits it: let them move it", "it is of %s", j.User)
	case j.Task != nil:
		return nil, engines.Refuse(api.CodeUsage, "name the array, "+j.Task.Array.String(), "a task moves with its array")
	case j.State != job.Queued:
		return nil, engines.Refuse(api.CodeConflict, "only what waits can be moved", "it is %s", j.State)
	case j.Private == nil:
		return nil, engines.Refuse(api.CodeConflict, "submit it there yourself", "its command can't be read any more")
	case j.Private.TTY:
		return nil, engines.Refuse(api.CodeUsage, "end it, and use 'gpusched run --on slurm'", "a terminal here waits for it")
	case tagged:
		return nil, engines.Refuse(api.CodeUsage, "submit it there yourself, without that tag", "it has a tag %s, by which a job that was moved is known", movedTag)
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

// rehearse asks Slurm about each job.
func (m *migration) rehearse(ctx context.Context, list []*moving) {
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

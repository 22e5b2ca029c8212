package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// Limits for one request about many jobs. In the body, a name takes about ten bytes.
const (
	maxMany      = 200_000
	maxManyBytes = 2 << 20
)

// handleMany carries out a command about many jobs.
func (s *Server) handleMany(r *request) (any, error) {
	in := r.body.(*api.ManyRequest)
	c := job.Command{Kind: in.Command, Signal: in.Signal, Main: in.Main, Change: in.Change, Grace: in.Grace}
	if err := checkGrace(in.Grace, in.Command == job.CommandCancel); err != nil {
		return nil, err
	}
	switch {
	case !in.Command.ForMany():
		return nil, usagef("%q cannot be applied to several jobs in one request", string(in.Command))
	case in.Command != job.CommandSignal && (in.Signal != 0 || in.Main):
		return nil, usagef("only the command %q takes a signal", string(job.CommandSignal))
	case in.Command == job.CommandSignal && (in.Signal < 1 || in.Signal > contract.MaxSignal):
		return nil, usagef("%d is not a signal: use 1 to %d", in.Signal, contract.MaxSignal)
	case (in.Command == job.CommandUpdate) != (in.Change != nil):
		return nil, usagef("an update needs a change, and no other command takes one")
	case len(in.Jobs) > maxMany:
		return nil, usagef("%d jobs are too many for one request: the most is %d", len(in.Jobs), maxMany)
	}
	if c.Change != nil {
		if err := checkChange(c.Change); err != nil {
			return nil, err
		}
	}
	if err := s.limits.takeListingSlot(r); err != nil { // the answer can be as long as a listing
		return nil, err
	}
	m := &manyReply{s: s, r: r, brief: in.Brief, names: s.namer()}
	seen := make(map[string]bool, len(in.Jobs))
	for _, name := range in.Jobs {
		if seen[name] {
			continue
		}
		seen[name] = true
		if err := m.add(r.Context(), name, c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Limits for the tasks that one request names. The server looks up each task.
const (
	maxManyTasks = 10_000
	tasksForOne  = 10 // looking up this many tasks costs as much as one more request
)

// manyReply is a reply that carries out the command while it sends the outcomes.
type manyReply struct {
	s     *Server
	r     *request
	brief bool
	names *namer

	list    []job.Command
	named   []string         // name of each command's job, as written in the request
	refused []api.RefusedJob // jobs that were refused before any command was carried out
	sent    int              // number of outcomes sent so far
	tasks   int              // number of tasks that the request has named so far
}

// add adds a command about the named job to the list. If the name is wrong, add stores a refusal.
func (m *manyReply) add(ctx context.Context, name string, c job.Command) error {
	if err := m.mayLookUp(name); err != nil {
		return err
	}
	t, err := m.s.jobs.target(ctx, name)
	if err == nil && t.id == 0 && c.Kind != job.CommandCancel {
		err = taskNotStarted(*t.task, c.Kind)
	}
	var e *api.Error
	var refusal *job.Refusal
	switch {
	case errors.As(err, &e), errors.As(err, &refusal):
		m.refused = append(m.refused, api.RefusedJob{Job: name, Error: *asError(err)})
		return nil
	case err != nil:
		return err
	}
	if c.Job = t.id; t.id == 0 {
		c.Job, c.Task = t.task.Array, &t.task.Index
	}
	m.list, m.named = append(m.list, c), append(m.named, name)
	return nil
}

// mayLookUp charges the user for looking up a task. It refuses a request that names too many tasks.
func (m *manyReply) mayLookUp(name string) error {
	if !strings.Contains(name, "_") {
		return nil
	}
	if m.tasks++; m.tasks > maxManyTasks {
		return usagef("one request names at most %d tasks: name their array, or fewer of them", maxManyTasks)
	}
	m.s.limits.charge(m.r.person, 1.0/tasksForOne)
	return nil
}

// Limits for one line of the answer. Clients read lines of up to 16 MiB.
const (
	refusedInLine = 500
	maxLine       = 1 << 20 // a longer line is split if it has more than one job
)

// errClientGone ends the work for a client that has stopped reading the answer.
var errClientGone = errors.New("the client has left")

// send writes a line for each piece of the outcomes, once the piece is on disk. If the client
// leaves, nothing happens to the remaining jobs.
func (m *manyReply) send(w http.ResponseWriter, out *counter) {
	w.Header().Set("Content-Type", "application/jsonl")
	for some := range slices.Chunk(m.refused, refusedInLine) {
		if !m.write(w, out, api.ManyPart{Refused: some}) {
			return
		}
	}
	ctx := m.r.Context()
	begun, err := m.s.backend(ctx).DoMany(ctx, m.r.who, m.list, func(each []job.Outcome) error {
		part := m.nextPart(each)
		if !m.write(w, out, part) {
			return errClientGone
		}
		return nil
	})
	if m.r.who.Admin { // an administrator may give this command, whoever owns the jobs
		m.audit(m.named[m.sent:max(begun, m.sent)], Unknown)
	}
	switch {
	case err == nil:
		m.write(w, out, api.ManyPart{Done: true})
	case ctx.Err() == nil && !errors.Is(err, errClientGone):
		e := asError(err)
		if e.Code == api.CodeInternal {
			var id string
			e, id = m.s.internalError()
			m.s.log.Error("request refused", "uid", m.r.who.UID, "action", "many", "id", id, "error", err)
		}
		m.write(w, out, api.ManyPart{Error: e})
	}
}

// nextPart returns the line for the next outcomes. It audits those outcomes that needed an
// administrator's right.
func (m *manyReply) nextPart(each []job.Outcome) api.ManyPart {
	var part api.ManyPart
	var others, refused []string
	for i, o := range each {
		name := m.named[m.sent+i]
		switch {
		case o.Refusal != nil:
			e := m.s.refusalOf(o.Refusal)
			part.Refused = append(part.Refused, api.RefusedJob{Job: name, Error: *e})
			if e.Code == api.CodeForbidden {
				refused = append(refused, name)
			}
		case o.Job != nil:
			if !m.r.who.Is(o.Job.Owner) {
				others = append(others, name)
			}
			part.Jobs = append(part.Jobs, m.row(o.Job, m.list[m.sent+i].Task))
		}
	}
	m.sent += len(each)
	m.audit(others, Done)
	m.audit(refused, Refused)
	return part
}

// refusalOf converts a refusal. It uses the same words as the route for one job.
func (s *Server) refusalOf(r *job.Refusal) *api.Error {
	e := asError(r)
	if r.Code == "forbidden/owner" {
		e.Hint, e.Say = s.ownersOnly(), job.Message{}
	}
	return e
}

func (m *manyReply) audit(jobs []string, outcome Outcome) {
	if len(jobs) == 0 {
		return
	}
	d := AuditEvent{UID: m.r.who.UID, User: m.r.who.User, Action: string(m.list[0].Kind), Outcome: outcome}
	d.Asked = append(auditArgs(m.r.asked), "jobs", strings.Join(jobs, ","))
	m.s.Audit(d)
}

// row converts a job for the reply. If the client asked for a brief reply, the row has only the
// fields that show the outcome.
func (m *manyReply) row(v *job.JobView, task *int) api.Job {
	if task != nil && v.Task == nil { // the command was about a task that was not a job yet
		t := futureTask(*v, job.Task{Array: v.ID, Index: *task})
		return m.names.renderJob(&t)
	}
	if !m.brief {
		return m.names.renderJob(v)
	}
	j := &v.Job
	out := api.Job{
		ID: j.ID, UID: j.Owner.UID, User: j.Owner.User, State: j.State, SubmittedAt: j.SubmittedAt.UTC(),
		Result: renderEnd(j), Task: renderTask(j.Task),
	}
	out.Label.Name, out.Requeue = j.Label.Name, new(bool)
	if grace := j.Request.GraceTime().Ceil(); grace > 0 {
		out.Grace = &grace
	}
	return out
}

// splitPart divides a line of outcomes into two lines.
func splitPart(p api.ManyPart) (first, second api.ManyPart) {
	jobs, refused := len(p.Jobs)/2, (len(p.Refused)+1)/2 // one job and one refusal get separate lines
	first.Jobs, second.Jobs = p.Jobs[:jobs], p.Jobs[jobs:]
	first.Refused, second.Refused = p.Refused[:refused], p.Refused[refused:]
	return first, second
}

func (m *manyReply) write(w http.ResponseWriter, out *counter, part api.ManyPart) bool {
	part.Schema = api.Schema
	line := encodeJSON(&part)
	if len(line) > maxLine && len(part.Jobs)+len(part.Refused) > 1 {
		first, second := splitPart(part)
		return m.write(w, out, first) && m.write(w, out, second)
	}
	return sendLines(w, out, line)
}

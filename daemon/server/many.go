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

// The bounds of one request about many jobs; the body has a name of ten bytes for each.
const (
	maxMany      = 200_000
	maxManyBytes = 2 << 20
)

// many does something to many jobs.
func (s *Server) many(r *request) (any, error) {
	in := r.body.(*api.ManyRequest)
	c := job.Command{Kind: in.Command, Signal: in.Signal, Main: in.Main, Change: in.Change, Grace: in.Grace}
	if err := checkGrace(in.Grace, in.Command == job.CommandCancel); err != nil {
		return nil, err
	}
	switch {
	case !in.Command.ForMany():
		return nil, usagef("%q can't be done to several jobs in one request", string(in.Command))
	case in.Command != job.CommandSignal && (in.Signal != 0 || in.Main):
		return nil, usagef("a signal belongs to the command %q, and to no other", string(job.CommandSignal))
	case in.Command == job.CommandSignal && (in.Signal < 1 || in.Signal > contract.MaxSignal):
		return nil, usagef("%d is not a signal: use 1 to %d", in.Signal, contract.MaxSignal)
	case (in.Command == job.CommandUpdate) != (in.Change != nil):
		return nil, usagef("an update needs what is to change, and no other command takes it")
	case len(in.Jobs) > maxMany:
		return nil, usagef("%d jobs are too many for one request: the most is %d", len(in.Jobs), maxMany)
	}
	if c.Change != nil {
		if err := checkChange(c.Change); err != nil {
			return nil, err
		}
	}
	if err := s.limits.takeListingSlot(r); err != nil { // the answer is as long
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

// Each task that is named is looked up.
const (
	maxManyTasks = 10_000
	tasksForOne  = 10 // count as one request
)

// manyReply does it while it answers what became of each.
type manyReply struct {
	s     *Server
	r     *request
	brief bool
	names *namer

	list   []job.Command
	called []string         // the same as they were named
	first  []api.RefusedJob // what is refused at once
	told   int
	tasks  int // how many were named
}

// add takes a job in. What is wrong with its name alone is told with the rest.
func (m *manyReply) add(ctx context.Context, name string, c job.Command) error {
	if err := m.mayLookUp(name); err != nil {
		return err
	}
	t, err := m.s.jobs.target(ctx, name)
	if err == nil && t.id == 0 && c.Kind != job.CommandCancel {
		err = notYet(*t.task, c.Kind)
	}
	var e *api.Error
	var refusal *job.Refusal
	switch {
	case errors.As(err, &e), errors.As(err, &refusal):
		m.first = append(m.first, api.RefusedJob{Job: name, Error: *asError(err)})
		return nil
	case err != nil:
		return err
	}
	if c.Job = t.id; t.id == 0 {
		c.Job, c.Task = t.task.Array, &t.task.Index
	}
	m.list, m.called = append(m.list, c), append(m.called, name)
	return nil
}

// mayLookUp charges for a task, and refuses one too many before anything is done.
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

// The bounds of a line of the answer, of which a client reads 16 MiB.
const (
	refusedInLine = 500
	maxLine       = 1 << 20 // a longer one becomes two, unless it has one job
)

// errLeft ends what is done for a client that takes no more of the answer.
var errLeft = errors.New("the client has left")

// send writes a line for each part that is on disk. A client that goes has the rest left alone.
func (m *manyReply) send(w http.ResponseWriter, out *counter) {
	w.Header().Set("Content-Type", "application/jsonl")
	for some := range slices.Chunk(m.first, refusedInLine) {
		if !m.write(w, out, api.ManyPart{Refused: some}) {
			return
		}
	}
	ctx := m.r.Context()
	begun, err := m.s.backend(ctx).DoMany(ctx, m.r.who, m.list, func(each []job.Outcome) error {
		part := m.part(each)
		if !m.write(w, out, part) {
			return errLeft
		}
		return nil
	})
	if m.r.who.Admin { // whosever they are
		m.audit(m.called[m.told:max(begun, m.told)], Unknown)
	}
	switch {
	case err == nil:
		m.write(w, out, api.ManyPart{Done: true})
	case ctx.Err() == nil && !errors.Is(err, errLeft):
		e := asError(err)
		if e.Code == api.CodeInternal {
			var id string
			e, id = internalError()
			m.s.log.Error("request refused", "uid", m.r.who.UID, "action", "many", "id", id, "error", err)
		}
		m.write(w, out, api.ManyPart{Error: e})
	}
}

// part is what became of the next commands; it notes what was done, or was to be, by the
// right of an admin.
func (m *manyReply) part(each []job.Outcome) api.ManyPart {
	var part api.ManyPart
	var others, refused []string
	for i, o := range each {
		name := m.called[m.told+i]
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
			part.Jobs = append(part.Jobs, m.row(o.Job, m.list[m.told+i].Task))
		}
	}
	m.told += len(each)
	m.audit(others, Done)
	m.audit(refused, Refused)
	return part
}

// refusalOf is a refusal as the route of one job words it.
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
	d.Asked = append(askedIn(m.r.asked), "jobs", strings.Join(jobs, ","))
	m.s.Audit(d)
}

// row is a job as it is told: of one that is brief what says what became of it.
func (m *manyReply) row(v *job.JobView, task *int) api.Job {
	if task != nil && v.Task == nil { // of an array whose task had not become a job
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

// twoParts cuts a part that has jobs in two.
func twoParts(p api.ManyPart) (first, second api.ManyPart) {
	jobs, refused := len(p.Jobs)/2, (len(p.Refused)+1)/2 // of one and one, one each
	first.Jobs, second.Jobs = p.Jobs[:jobs], p.Jobs[jobs:]
	first.Refused, second.Refused = p.Refused[:refused], p.Refused[refused:]
	return first, second
}

func (m *manyReply) write(w http.ResponseWriter, out *counter, part api.ManyPart) bool {
	part.Schema = api.Schema
	line := encodeJSON(&part)
	if len(line) > maxLine && len(part.Jobs)+len(part.Refused) > 1 {
		first, second := twoParts(part)
		return m.write(w, out, first) && m.write(w, out, second)
	}
	return sendLines(w, out, line)
}

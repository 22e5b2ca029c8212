package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// handleList answers with the selected jobs and the GPUs.
func (s *Server) handleList(r *request) (any, error) {
	asked := r.query.(*api.ListQuery)
	q, future, err := s.listQuery(r, asked)
	if err != nil {
		return nil, err
	}
	if err := s.limits.takeListingSlot(r); err != nil {
		return nil, err
	}
	switch asked.Form {
	case "":
	case api.FormIDs, api.FormOwners:
		return s.listNames(r, q, future, asked.Form == api.FormOwners)
	default:
		return nil, usagef("a listing has no form %q: use %s or %s, or leave it out for JSON", asked.Form, api.FormIDs, api.FormOwners)
	}
	v, err := s.queryWith(r, q, future)
	if err != nil {
		return nil, err
	}
	out := listing{
		ListReply: api.ListReply{
			GPUs: s.accounts.renderGPUs(v.GPUs, r.who), Omitted: v.Omitted, Drain: renderDrain(v.Drained, v.Ends),
		},
		jobs: v.Jobs, only: asked.Names, names: s.namer(), brief: asked.Reasons == api.ReasonCodes,
	}
	if asked.Recent {
		out.Recent, err = s.countRecent(r)
	}
	return out, err
}

// queryWith returns the jobs that a query selects, and those of the given tasks that it matches. The
// tasks are not jobs yet. It leaves out those whose arrays do not exist.
func (s *Server) queryWith(r *request, q job.Query, future []job.Task) (job.View, error) {
	v, err := s.backend(r.Context()).Query(r.Context(), q)
	if err != nil || len(future) == 0 {
		return v, err
	}
	want := job.Query{Reasons: q.Reasons}
	of := want
	of.IDs = slices.Compact(slices.Sorted(slices.Values(job.Each(future, func(t job.Task) job.ID { return t.Array }))))
	found, err := s.backend(r.Context()).Query(r.Context(), of) // one query for all, since each takes time
	if err != nil {
		return v, err
	}
	arrays := map[job.ID]job.JobView{}
	for _, a := range found.Jobs {
		arrays[a.ID] = a
	}
	for _, t := range future {
		array, ok := arrays[t.Array]
		if !ok {
			continue
		}
		j, err := s.jobs.taskOf(r.Context(), array, t, want)
		var refused *api.Error
		switch {
		case errors.As(err, &refused) && refused.Code == api.CodeNotFound: // like a job that does not exist
		case err != nil:
			return v, err
		case q.Matches(&j.Job):
			v.Jobs = append(v.Jobs, j)
		}
	}
	return v, nil
}

// listNames answers with one line of text per job. It reads only the queue,
// and looks up nothing else about the jobs.
func (s *Server) listNames(r *request, q job.Query, future []job.Task, owners bool) (any, error) {
	out := text{kind: "text/plain; charset=utf-8"}
	names, err := s.queryNames(r, q, future)
	for _, n := range names {
		if out.body = n.Append(out.body); owners {
			out.body = strconv.AppendInt(append(out.body, ' '), int64(n.UID), 10)
		}
		out.body = append(out.body, '\n')
	}
	return out, err
}

func (s *Server) queryNames(r *request, q job.Query, future []job.Task) (names []job.Name, err error) {
	switch named := q.IDs != nil || q.Ended > 0; {
	case q.For != "" && (named || !q.For.ForMany()):
		return nil, usagef("for=%s: use cancel, signal, hold, release, requeue, suspend, resume, park, unpark or update, without ids and ended", string(q.For))
	case !named:
		if q.For == job.CommandRelease && r.who.Admin {
			if err := s.backend(r.Context()).FindRenamed(r.Context(), q); err != nil {
				return nil, err
			}
		}
		return s.backend(r.Context()).Names(r.Context(), q)
	}
	v, err := s.queryWith(r, q, future) // ended jobs are in the state file, not in the queue
	for i := range v.Jobs {
		j := &v.Jobs[i]
		names = append(names, job.Name{ID: j.ID, Task: j.Task, UID: j.Owner.UID})
	}
	return names, err
}

// listQuery converts the query of a listing to the backend's form.
// The second result has the tasks that it names and that are not jobs yet.
func (s *Server) listQuery(r *request, in *api.ListQuery) (q job.Query, future []job.Task, err error) {
	if q.Choice, err = choice(in); err != nil {
		return q, nil, err
	}
	if in.IDs != "" {
		if q.IDs, future, err = s.jobs.parseNames(r.Context(), in.IDs); err != nil {
			return q, nil, err
		}
	}
	q.Reasons = in.Reasons == api.WithReasons || in.Reasons == api.ReasonCodes
	q.Array, q.For = in.Array, in.For
	q.Ended, q.Waiting = in.Ended, in.Waiting
	q.UID, q.User, err = s.parseOwner(r, in.UID, in.User)
	return q, future, err
}

// maxPattern limits the length of a pattern. Every job's name is compared with the pattern.
const maxPattern = 2 * job.MaxNameBytes

// choice converts and checks the conditions that all jobs of a listing must meet.
func choice(in *api.ListQuery) (job.Choice, error) {
	switch {
	case len(in.Like) > maxPattern:
		return job.Choice{}, usagef("a pattern of %d bytes is too long: no name has more than %d", len(in.Like), job.MaxNameBytes)
	case len(in.Tags) > job.MaxTags:
		return job.Choice{}, usagef("no job has %d tags: the most is %d", len(in.Tags), job.MaxTags)
	}
	return job.Choice{Name: in.Name, Like: in.Like, States: in.States, Tags: in.Tags, Since: in.Since}, nil
}

// recentTime is the time for which a user's listings count an ended job as recent.
const recentTime = time.Hour

// countRecent counts the caller's jobs that ended recently.
func (s *Server) countRecent(r *request) (*api.Recent, error) {
	since := time.Now().Add(-recentTime)
	l, err := s.backend(r.Context()).Lately(r.Context(), r.who.UID, since)
	return &api.Recent{Since: since.UTC().Truncate(time.Second), Ended: l.Ended, Failed: l.Failed}, err
}

// handleShow answers with everything about one job. It adds the private part if the caller may see
// it (invariant 3).
func (s *Server) handleShow(r *request) (any, error) {
	v, err := s.jobs.jobInPath(r, job.Query{Reasons: true, Attempts: true})
	if err != nil {
		return nil, err
	}
	reply := api.JobReply{Schema: api.Schema, Job: s.namer().renderJob(&v), Attempts: renderAttempts(v.Attempts)}
	asked := r.query.(*api.JobQuery)
	if asked.Printed {
		reply.Printed = s.opt.Printed != nil && s.opt.Printed(r.Context()) == nil
	}
	if asked.Results && reply.Job.Array != nil {
		if err := s.limits.takeListingSlot(r); err != nil {
			return nil, err
		}
		if reply.Results, err = s.jobs.results(r.Context(), &v); err != nil {
			return nil, err
		}
	}
	if asked.Why && v.State == job.Queued {
		if err := s.limits.takeListingSlot(r); err != nil {
			return nil, err
		}
		if reply.Queue, err = s.explainJob(r, &v); err != nil {
			return nil, err
		}
	}
	if r.who.MayControl(&v.Job) {
		r.asAdmin = !r.who.Is(v.Owner)
		reply.Messages = renderMessages(v.Notified)
		reply.Job.Private, err = s.jobs.privatePart(r.Context(), v)
	}
	return reply, err
}

// defaultPoll is the length of a long poll whose request gives no length.
const defaultPoll = 60 * time.Second

// handleWait answers when the job has ended. If the poll's time passes first, it answers
// wait-timeout.
func (s *Server) handleWait(r *request) (any, error) {
	limit := defaultPoll
	if n := r.query.(*api.WaitQuery).Seconds; n != nil {
		limit = time.Duration(*n) * time.Second
	}
	if !s.limits.waits.enter(r.person) {
		// The connection is closed, so that its place is free for a request that does not wait.
		return nil, retryLater(r, time.Second, errTooMany("waits"))
	}
	r.release() // a wait does not delay other requests
	defer s.limits.waits.release(r.person)
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	v, err := s.jobs.waitFor(ctx, r.PathValue("id"))
	switch {
	case err == nil:
		return api.JobReply{Schema: api.Schema, Job: s.namer().renderJob(&v)}, nil
	case s.closing.Err() != nil:
		return nil, &api.Error{Code: api.CodeUnavailable, Message: "the scheduler is restarting", Hint: "ask again in a moment"}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, &api.Error{Code: api.CodeWaitTimeout, Message: fmt.Sprintf("job %s has not ended yet", r.PathValue("id"))}
	}
	return nil, err
}

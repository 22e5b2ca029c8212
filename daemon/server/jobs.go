package server

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// maxEnded bounds how many ended jobs one listing returns.
const maxEnded = 10_000

// maxSignal is the highest real-time signal on Linux.
const maxSignal = 64

// listWords are the query words of a listing.
var listWords = []string{"ended", "user", "uid", "state", "name", "ids", "reasons"}

// list answers with the jobs that match, and the GPUs.
func (s *Server) list(r *request) (any, error) {
	q, err := s.parseQuery(r.URL.Query())
	if err != nil {
		return nil, err
	}
	v, err := s.backend.Query(r.Context(), q)
	if err != nil {
		return nil, err
	}
	reply := api.ListReply{Schema: api.Schema, Jobs: make([]api.Job, len(v.Jobs)), GPUs: s.renderGPUs(v.GPUs, r.who)}
	for i, j := range v.Jobs {
		reply.Jobs[i] = renderJob(j)
	}
	return reply, nil
}

func (s *Server) parseQuery(words url.Values) (q job.Query, err error) {
	q.Name, q.State = words.Get("name"), job.State(words.Get("state"))
	q.Reasons = words.Get("reasons") == "1"
	if q.State != "" && !q.State.Valid() {
		return q, unknownWord("state", string(q.State), stateNames())
	}
	if text := words.Get("ids"); text != "" {
		if q.IDs, err = job.ParseIDs(text); err != nil {
			return q, usagef("%v", err)
		}
	}
	if text := words.Get("ended"); text != "" {
		if q.Ended, err = strconv.Atoi(text); err != nil || q.Ended < 0 || q.Ended > maxEnded {
			return q, usagef("%q is not a number of ended jobs: use 0 to %d", text, maxEnded)
		}
	}
	q.UID, err = s.parseUser(words.Get("uid"), words.Get("user"))
	return q, err
}

// parseUser reads a uid, or an account name (or its number, for accounts that
// are gone). Nil is every user.
func (s *Server) parseUser(number, name string) (*int, error) {
	if name != "" {
		if uid, ok := s.opt.UserID(name); ok {
			return &uid, nil
		}
		number = name
	}
	if number == "" {
		return nil, nil
	}
	uid, err := strconv.ParseUint(number, 10, 32)
	if err != nil {
		return nil, usagef("no account named %q on this machine", number)
	}
	n := int(uid)
	return &n, nil
}

func stateNames() []string {
	var names []string
	for _, st := range job.States() {
		names = append(names, string(st))
	}
	return names
}

// jobInPath finds the job {id}.
func (s *Server) jobInPath(r *request) (job.JobView, error) {
	id, err := job.ParseID(r.PathValue("id"))
	if err != nil {
		return job.JobView{}, usagef("%v", err)
	}
	v, err := s.backend.Query(r.Context(), job.Query{IDs: []job.ID{id}, Reasons: true})
	if err != nil {
		return job.JobView{}, err
	}
	if len(v.Jobs) == 0 {
		return job.JobView{}, &api.Error{
			Code: api.CodeNotFound, Message: fmt.Sprintf("there is no job %d", id), Hint: "see 'gpusched list -a'",
		}
	}
	return v.Jobs[0], nil
}

// show answers with all of one job, the private part for those who may
// (invariant 3).
func (s *Server) show(r *request) (any, error) {
	v, err := s.jobInPath(r)
	if err != nil {
		return nil, err
	}
	reply := api.JobReply{Schema: api.Schema, Job: renderJob(v), Attempts: renderAttempts(v.Attempts)}
	if !r.who.MayControl(v.Owner) {
		return reply, nil
	}
	y, err := s.backend.Payload(r.Context(), v.ID)
	if err != nil {
		return nil, err
	}
	argv := byteLists(y.Argv)
	reply.Job.Private = &api.Private{
		Command: api.Quote(argv), Argv: argv, EnvMode: string(y.EnvMode), Env: byteLists(y.Env), Dir: []byte(y.Dir), Umask: y.Umask,
	}
	return reply, nil
}

// cancel ends a job, or only sends it a signal.
func (s *Server) cancel(r *request) (any, error) {
	var in api.CancelRequest
	if err := decode(r, &in, maxBodyBytes); err != nil {
		return nil, err
	}
	if in.Signal < 0 || in.Signal > maxSignal {
		return nil, usagef("%d is not a signal: use 1 to %d", in.Signal, maxSignal)
	}
	id, err := job.ParseID(r.PathValue("id"))
	if err != nil {
		return nil, usagef("%v", err)
	}
	c := job.Command{Kind: job.CommandCancel, Job: id}
	if in.Signal != 0 {
		c.Kind, c.Signal = job.CommandSignal, in.Signal
	}
	if err := s.backend.Do(r.Context(), r.who, c); err != nil {
		return nil, err
	}
	v, err := s.jobInPath(r)
	return api.JobReply{Schema: api.Schema, Job: renderJob(v)}, err
}

// The bounds of a long poll.
const (
	defaultPoll = 60 * time.Second
	maxPoll     = 600 * time.Second
)

// wait answers when the job has ended, or with wait-timeout.
func (s *Server) wait(r *request) (any, error) {
	id, err := job.ParseID(r.PathValue("id"))
	if err != nil {
		return nil, usagef("%v", err)
	}
	limit, err := parsePoll(r.URL.Query().Get("timeout_seconds"))
	if err != nil {
		return nil, err
	}
	if !s.polls.enter(r.who.UID) {
		// The connection's place is for somebody who does not wait.
		r.w.Header().Set("Connection", "close")
		r.w.Header().Set(retryAfter, "1")
		return nil, errTooMany("waits")
	}
	defer s.polls.leave(r.who.UID)
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	v, err := s.backend.Wait(ctx, id)
	switch {
	case err == nil:
		return api.JobReply{Schema: api.Schema, Job: renderJob(v)}, nil
	case s.closing.Err() != nil:
		return nil, &api.Error{Code: api.CodeUnavailable, Message: "the scheduler is restarting", Hint: "ask again in a moment"}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, &api.Error{Code: api.CodeWaitTimeout, Message: fmt.Sprintf("job %d has not ended yet", id)}
	}
	return nil, err
}

func parsePoll(text string) (time.Duration, error) {
	if text == "" {
		return defaultPoll, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > int(maxPoll/time.Second) {
		return 0, usagef("%q is not a time to wait: use 0 to %d seconds", text, int(maxPoll/time.Second))
	}
	return time.Duration(n) * time.Second, nil
}

package server

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// maxEnded bounds how many ended jobs one listing returns.
const maxEnded = 10_000

// listWords are the query words of a listing.
var listWords = []string{
	"ended", "user", "uid", "state", "name", "like", "tag", "since", "ids", "array", "reasons", "waiting", "names", "recent",
	"form", "for",
}

// list answers with the jobs that match, and the GPUs.
func (s *Server) list(r *request) (any, error) {
	q, err := s.parseQuery(r)
	if err != nil {
		return nil, err
	}
	if err := s.turn(r, &s.listings, maxListings); err != nil {
		return nil, err
	}
	switch form := r.URL.Query().Get("form"); form {
	case "":
	case formIDs, formOwners:
		return s.listNames(r, q, form == formOwners)
	default:
		return nil, usagef("there is no form %q of a listing: use %s or %s, or leave it out for JSON", form, formIDs, formOwners)
	}
	v, err := s.backend(r.Context()).Query(r.Context(), q)
	if err != nil {
		return nil, err
	}
	var recent *api.Recent
	if r.URL.Query().Get("recent") == "1" {
		if recent, err = s.recent(r); err != nil {
			return nil, err
		}
	}
	return listing{
		jobs: v.Jobs, only: r.URL.Query().Get("names") == "1", names: s.namer(),
		brief: r.URL.Query().Get("reasons") == "brief",
		gpus:  s.renderGPUs(v.GPUs, r.who), omitted: v.Omitted,
		drain: renderDrain(v.Drained), recent: recent,
	}, nil
}

// The forms of a listing that has of each job a line with what it is called, and with the uid of its
// owner. They are read straight off the queue: nothing is looked up of a job.
const (
	formIDs    = "ids"
	formOwners = "owners"
)

func (s *Server) listNames(r *request, q job.Query, owners bool) (any, error) {
	out := text{kind: "text/plain; charset=utf-8"}
	names, err := s.queryNames(r, q)
	for _, n := range names {
		if out.body = n.Append(out.body); owners {
			out.body = strconv.AppendInt(append(out.body, ' '), int64(n.UID), 10)
		}
		out.body = append(out.body, '\n')
	}
	return out, err
}

func (s *Server) queryNames(r *request, q job.Query) (names []job.Name, err error) {
	q.For = job.CommandKind(r.URL.Query().Get("for"))
	switch named := q.IDs != nil || q.Ended > 0; {
	case q.For != "" && (named || !q.For.ForMany()):
		return nil, usagef("for=%s: use cancel, signal, hold, release, requeue, suspend, resume or update, without ids and ended", string(q.For))
	case !named:
		if q.For == job.CommandRelease && r.who.Admin {
			if err := s.backend(r.Context()).FindRenamed(r.Context(), q); err != nil {
				return nil, err
			}
		}
		return s.backend(r.Context()).Names(r.Context(), q)
	}
	v, err := s.backend(r.Context()).Query(r.Context(), q) // some are on record alone
	for i := range v.Jobs {
		j := &v.Jobs[i]
		names = append(names, job.Name{ID: j.ID, Task: j.Task, UID: j.Owner.UID})
	}
	return names, err
}

func (s *Server) parseQuery(r *request) (q job.Query, err error) {
	words := r.URL.Query()
	q.Reasons = words.Get("reasons") == "1" || words.Get("reasons") == "brief"
	if q.Choice, err = parseChoice(words); err != nil {
		return q, err
	}
	if text := words.Get("ids"); text != "" {
		if q.IDs, err = s.parseNames(r.Context(), text); err != nil {
			return q, err
		}
	}
	if q.Array, err = parseArray(words.Get("array")); err != nil {
		return q, err
	}
	if text := words.Get("ended"); text != "" {
		if q.Ended, err = strconv.Atoi(text); err != nil || q.Ended < 0 || q.Ended > maxEnded {
			return q, usagef("%q is not a number of ended jobs: use 0 to %d", text, maxEnded)
		}
	}
	if text := words.Get("waiting"); text != "" {
		if q.Waiting, err = strconv.Atoi(text); err != nil || q.Waiting < 0 {
			return q, usagef("%q is not a number of waiting jobs: use 0 for all of them", text)
		}
	}
	q.UID, q.User, err = s.whose(r, words.Get("uid"), words.Get("user"))
	return q, err
}

// maxPattern bounds a pattern for names, which is compared with the name of every job.
const maxPattern = 2 * job.MaxNameBytes

// parseChoice reads what the jobs of a listing have to be like.
func parseChoice(words url.Values) (c job.Choice, err error) {
	c.Name, c.Like = words.Get("name"), words.Get("like")
	if len(c.Like) > maxPattern {
		return c, usagef("a pattern of %d bytes is too long: no name has more than %d", len(c.Like), job.MaxNameBytes)
	}
	if text := words.Get("state"); text != "" {
		for word := range strings.SplitSeq(text, ",") {
			if !job.State(word).Valid() {
				return c, unknownState(word)
			}
			if !slices.Contains(c.States, job.State(word)) {
				c.States = append(c.States, job.State(word))
			}
		}
	}
	for _, word := range words["tag"] {
		key, value, ok := strings.Cut(word, "=")
		if !ok || key == "" {
			return c, usagef("%q is not a tag: use KEY=VALUE", word)
		}
		if c.Tags == nil {
			c.Tags = map[string]string{}
		}
		c.Tags[key] = value
	}
	if len(c.Tags) > job.MaxTags {
		return c, usagef("no job has %d tags: the most is %d", len(c.Tags), job.MaxTags)
	}
	if text := words.Get("since"); text != "" {
		if c.Since, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return c, usagef("%q is not a time in RFC 3339", text)
		}
	}
	return c, nil
}

// recently is how long a job that has ended is news to its owner.
const recently = time.Hour

// recent counts what of the asker's own has ended lately.
func (s *Server) recent(r *request) (*api.Recent, error) {
	since := time.Now().Add(-recently)
	l, err := s.backend(r.Context()).Lately(r.Context(), r.who.UID, since)
	return &api.Recent{Since: since.UTC().Truncate(time.Second), Ended: l.Ended, Failed: l.Failed}, err
}

func stateNames() []string {
	var names []string
	for _, st := range job.States() {
		names = append(names, string(st))
	}
	return names
}

// show answers with all of one job, the private part for those who may
// (invariant 3).
func (s *Server) show(r *request) (any, error) {
	v, err := s.jobInPath(r, job.Query{Reasons: true, Attempts: true})
	if err != nil {
		return nil, err
	}
	reply := api.JobReply{Schema: api.Schema, Job: s.namer().renderJob(&v), Attempts: renderAttempts(v.Attempts)}
	if r.URL.Query().Get("printed") == "1" {
		reply.Printed = s.opt.Printed != nil && s.opt.Printed(r.Context()) == nil
	}
	if r.URL.Query().Get("results") == "1" && reply.Job.Array != nil {
		if err := s.turn(r, &s.listings, maxListings); err != nil {
			return nil, err
		}
		if reply.Results, err = s.results(r.Context(), &v); err != nil {
			return nil, err
		}
	}
	if r.URL.Query().Get("why") == "1" && v.State == job.Queued {
		if err := s.turn(r, &s.listings, maxListings); err != nil {
			return nil, err
		}
		if reply.Queue, err = s.explained(r, &v); err != nil {
			return nil, err
		}
	}
	if r.who.MayControl(&v.Job) {
		r.asAdmin = !r.who.Is(v.Owner)
		reply.Messages = renderMessages(v.Notified)
		reply.Job.Private, err = s.private(r.Context(), v)
	}
	return reply, err
}

// The bounds of a long poll.
const (
	defaultPoll = 60 * time.Second
	maxPoll     = 600 * time.Second
)

// wait answers when the job has ended, or with wait-timeout.
func (s *Server) wait(r *request) (any, error) {
	limit, err := parsePoll(r.URL.Query().Get("timeout_seconds"))
	if err != nil {
		return nil, err
	}
	if !s.polls.enter(r.person) {
		// The connection's place goes to a request that does not wait.
		return nil, s.later(r, time.Second, errTooMany("waits"))
	}
	r.over() // a wait holds up no other request
	defer s.polls.leave(r.person)
	ctx, cancel := context.WithTimeout(r.Context(), limit)
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	v, err := s.waitFor(ctx, r.PathValue("id"))
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

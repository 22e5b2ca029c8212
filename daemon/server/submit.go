package server

import (
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// handleSubmit queues a job as the peer's user.
func (s *Server) handleSubmit(r *request) (any, error) {
	if s.opt.Own != nil && !s.accounts.owns(r.peer) {
		return nil, s.accounts.notServed("jobs can be submitted by nobody else")
	}
	if !r.certain {
		return nil, job.Refuse("unavailable/person", r.who.UID, s.accounts.knownName(r.person))
	}
	in := r.body.(*api.SubmitRequest)
	if in.DryRun {
		if err := s.limits.takeDryRunSlot(r); err != nil {
			return nil, err
		}
	}
	sub, err := submission(*in)
	if err != nil {
		return nil, err
	}
	if err := checkProgram(s.opt.Config().Jobs.AllowedPaths, sub.Payload, sub.Request.Array); err != nil {
		return nil, err
	}
	sub.Owner = job.Owner{UID: r.who.UID, GID: r.who.GID, User: r.who.User, Groups: s.accounts.quotaGroups(r.peer)}
	if r.person != r.who.UID {
		sub.Principal = &job.Account{UID: r.person, User: s.accounts.userName(r.person)}
	}
	sub.GIDs = r.peer.gids()
	sub.Request.Shape, sub.Request.Script = shapeOf(r.who.UID, sub.Payload.Argv), scriptOf(r.who.UID, sub.Payload.Argv)
	sub.Admin, sub.Brief = r.who.Admin, prefersBrief(r.Header.Values(api.PreferHeader))
	if sub.Payload.Limits, err = s.submitterLimits(r); err != nil {
		return nil, err
	}
	switch l := &sub.Payload.Log; l.Path {
	case "":
		l.Path = s.opt.Config().Jobs.Log
	case job.NoLog:
		l.Path = ""
	}
	if err := sub.Validate(); err != nil {
		return nil, err
	}
	if err := allowEngine(s.opt.engines(), sub.Payload.Container.Engine); err != nil {
		return nil, err
	}
	if sub.Request.MPS && s.opt.Own != nil {
		return nil, job.Refuse("unavailable/mps-own")
	}
	if err := s.allowNotify(&sub); err != nil {
		return nil, err
	}
	out, err := s.backend(r.Context()).Submit(r.Context(), sub, in.DryRun)
	if err != nil {
		return nil, err
	}
	s.log.Debug("step of a job", "job", out.ID, "step", "received", "at", r.received.UnixMicro())
	j := s.namer().renderJob(&out.JobView)
	return api.SubmitReply{Schema: api.Schema, Job: j, Known: out.Known, Unit: out.Unit}, nil
}

// prefersBrief reports whether a client asks for a brief answer in its Prefer headers.
func prefersBrief(headers []string) bool {
	for _, h := range headers {
		for p := range strings.FieldsFuncSeq(h, func(c rune) bool { return c == ',' || c == ';' }) {
			if strings.EqualFold(strings.TrimSpace(p), api.PreferBrief) {
				return true
			}
		}
	}
	return false
}

// submission converts a request. It adds no defaults of the site: absent values stay absent.
func submission(in api.SubmitRequest) (job.Submission, error) {
	sub := job.Submission{
		Key: in.Key, Label: in.Label, Request: in.Request,
		Payload: job.Payload{Program: in.Program.Contract(), Snapshot: in.Program.Snapshot},
	}
	r := &sub.Request
	r.Begin, r.Derived = moment(r.Begin), job.Derived{ContainerEngine: in.Program.Container.Engine}
	r.Notify, sub.Payload.NotifyTo = splitNotify(r.Notify)
	wholeSpans(r)
	var err error
	if r.Array, err = api.Tasks(r.Array); err != nil {
		return sub, usagef("%s", words.Error(err))
	}
	return sub, nil
}

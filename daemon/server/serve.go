package server

import (
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// serve answers one request. It identifies the caller, checks the right, and calls the handler.
func (s *Server) serve(rt route, w http.ResponseWriter, hr *http.Request) {
	defer s.handlePanic(w, hr)
	p, known := hr.Context().Value(peerKey{}).(peer)
	if !known {
		w.Header().Set("Connection", "close")
		err := &api.Error{Code: api.CodeForbidden, Message: "the connection has no identity"}
		s.audit(rt, &request{Request: hr, who: job.Actor{UID: noUID}, person: noUID}, nil, err)
		s.refuse(w, hr, noUID, err)
		return
	}
	r := &request{Request: hr, w: w, received: time.Now(), peer: p, who: s.accounts.actor(p)}
	r.person, r.certain = s.opt.Person(p.uid) // after the call of actor, which looks up the name
	defer r.release()
	reply, err := s.answer(rt, r)
	s.audit(rt, r, reply, err)
	s.answers.count(&rt, hr, err)
	s.log.Debug("request answered", "uid", r.who.UID, "action", rt.Name, "failed", err != nil,
		"took", time.Since(r.received))
	if err != nil {
		s.refuse(w, hr, r.who.UID, err)
		return
	}
	if l, long := reply.(streamedReply); long {
		out := counter{to: w}
		defer func() { s.limits.chargeAnswer(r.person, out.n) }() // the answer counts even if the client cuts it off
		l.send(w, &out)
		return
	}
	if t, plain := reply.(text); plain {
		s.limits.chargeAnswer(r.person, t.send(w))
		return
	}
	s.limits.chargeAnswer(r.person, writeJSON(w, http.StatusOK, reply))
}

func (s *Server) answer(rt route, r *request) (any, error) {
	if err := s.accounts.serves(r.peer); err != nil {
		return nil, err
	}
	if err := s.limits.throttle(r); err != nil {
		return nil, err
	}
	if err := s.limits.takeSlot(r, &s.limits.requests, s.opt.Config().Limits.AtOnce); err != nil {
		return nil, err
	}
	if err := expectBody(r.w, r.Request); err != nil {
		return nil, err
	}
	if err := s.admit(rt, r); err != nil {
		return nil, err
	}
	if err := s.read(rt, r); err != nil {
		return nil, err
	}
	return rt.handle(s, r)
}

// read decodes a request's query and body.
func (s *Server) read(rt route, r *request) error {
	r.query = empty(rt.Query)
	if err := api.DecodeQuery(r.URL.Query(), r.query); err != nil || rt.Method == http.MethodGet {
		return err
	}
	limit := int64(maxBodyBytes)
	switch rt.Route {
	case api.RouteSubmit:
		limit = s.opt.Config().Limits.RequestBytes
	case api.RouteMany:
		limit = maxManyBytes
	}
	if r.body = empty(rt.Body); r.body == nil {
		r.body = &struct{}{}
	}
	return decode(r, r.body, limit)
}

// empty returns a pointer to a new struct of the type of model. If model is nil, it returns nil.
func empty(model any) any {
	if model == nil {
		return nil
	}
	return reflect.New(reflect.TypeOf(model)).Interface()
}

// admit enforces the right that the route declares. No other function enforces it.
func (s *Server) admit(rt route, r *request) error {
	switch rt.right {
	case anyone, ownersOrAdmin:
		return nil
	case adminOnly:
		if r.asAdmin = r.who.Admin; r.asAdmin {
			return nil
		}
		return &api.Error{
			Code: api.CodeForbidden, Message: "only administrators may do this, and " + r.who.User + " is not one",
			Hint: "administrators are root and the members of group " + s.opt.Config().Daemon.AdminGroup,
		}
	case ownerOrAdmin:
		return s.admitOwner(r)
	}
	return &api.Error{Code: api.CodeForbidden, Message: "this request has no declared right"}
}

func (s *Server) admitOwner(r *request) error {
	t, err := s.jobs.targetInPath(r)
	if err != nil {
		return err
	}
	v, err := s.jobs.view(r.Context(), t, job.Query{})
	if err != nil {
		return err
	}
	if r.who.MayControl(&v.Job) {
		r.asAdmin = !r.who.Is(v.Owner)
		return nil
	}
	return &api.Error{
		Code: api.CodeForbidden, Message: fmt.Sprintf("job %s belongs to %s", v.Called(), v.Owner.User),
		Hint: s.ownersOnly(),
	}
}

// ownersOnly returns the hint that says who may act on a job.
func (s *Server) ownersOnly() string {
	return "only its owner, root and the members of group " + s.opt.Config().Daemon.AdminGroup + " may do this"
}

// handlePanic answers a request after its handler panicked (invariant 6).
func (s *Server) handlePanic(w http.ResponseWriter, r *http.Request) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler {
		panic(v)
	}
	e, id := s.internalError()
	s.log.Error("panic while answering", "id", id, "method", r.Method, "path", r.URL.Path,
		"panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	writeError(w, e)
}

// refuse answers with an error. If the client is not at fault, it also logs the error. Refusals
// because of a missing right are in the audit log.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, uid int, err error) {
	if r.Context().Err() != nil {
		http.NewResponseController(w).SetWriteDeadline(time.Now().Add(replyTime))
		w.WriteHeader(http.StatusRequestTimeout) // a client that only stopped sending must not get status 200
		return
	}
	e := asError(err)
	level := slog.LevelDebug
	args := []any{"uid", uid, "method", r.Method, "path", r.URL.Path, "code", string(e.Code)}
	if e.Code == api.CodeInternal {
		var id string
		e, id = s.internalError()
		level, args = slog.LevelError, append(args, "id", id, "error", err)
	}
	s.log.Log(r.Context(), level, "request refused", args...)
	writeError(w, e)
}

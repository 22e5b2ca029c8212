package server

import (
	"fmt"
	"runtime"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// firstWaiting is how many waiting jobs the status shows.
const firstWaiting = 10

// status is the daemon at a glance.
func (s *Server) status(r *request) (any, error) {
	if err := s.turn(r, &s.listings, maxListings); err != nil {
		return nil, err
	}
	v, err := s.backend(r.Context()).Query(r.Context(), job.Query{Reasons: true, Waiting: firstWaiting})
	if err != nil {
		return nil, err
	}
	reply := api.StatusReply{
		Schema: api.Schema, Version: s.opt.Version, StartedAt: v.StartedAt.UTC(),
		Health: job.Worst(s.backend(r.Context()).Health(r.Context())), Counts: map[string]int{},
		Drain: renderDrain(v.Drained), Host: v.Host,
		GPUs: s.renderGPUs(v.GPUs, r.who), Running: []api.Job{}, Waiting: []api.Job{},
	}
	for state, n := range v.Counts {
		reply.Counts[string(state)] = n
	}
	names := s.namer()
	for i := range v.Jobs {
		switch j := &v.Jobs[i]; {
		case j.State.Live():
			reply.Running = append(reply.Running, names.renderJob(j))
		case j.State == job.Queued:
			reply.Waiting = append(reply.Waiting, names.renderJob(j))
		}
	}
	return reply, nil
}

// health answers with every check.
func (s *Server) health(r *request) (any, error) {
	checks := s.backend(r.Context()).Health(r.Context())
	return api.HealthReply{Schema: api.Schema, Health: job.Worst(checks), Checks: checks}, nil
}

// version names the running daemon.
func (s *Server) version(*request) (any, error) {
	return api.VersionReply{Schema: api.Schema, Version: s.opt.Version, Commit: s.opt.Commit, Go: runtime.Version()}, nil
}

// unknown answers what is not in the route table.
func (s *Server) unknown(r *request) (any, error) {
	return nil, &api.Error{
		Code: api.CodeUsage, Message: fmt.Sprintf("this daemon does not know the request %s %q", r.Method, r.URL.Path),
		Hint: "is the client newer than the daemon? see 'gpusched version'",
	}
}

package server

import (
	"fmt"
	"runtime"
	"slices"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
)

// firstWaiting is the number of waiting jobs that the status shows.
const firstWaiting = 10

// handleStatus answers with a summary of the daemon, its jobs and its GPUs.
func (s *Server) handleStatus(r *request) (any, error) {
	if err := s.limits.takeListingSlot(r); err != nil {
		return nil, err
	}
	v, err := s.backend(r.Context()).Query(r.Context(), job.Query{Reasons: true, Waiting: firstWaiting, Totals: true})
	if err != nil {
		return nil, err
	}
	checks := s.backend(r.Context()).Health(r.Context())
	reply := api.StatusReply{
		Schema: api.Schema, Version: s.opt.Version, StartedAt: v.StartedAt.UTC(),
		Health: job.Worst(checks), Problem: problem(checks), Counts: v.Counts, Totals: v.Totals,
		RebootDue: rebootDue(checks),
		Drain:     renderDrain(v.Drained, v.Ends), Host: v.Host,
		GPUs: s.accounts.renderGPUs(v.GPUs, r.who), Running: []api.Job{}, Waiting: []api.Job{},
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

// rebootDue says that an upgrade needs a reboot. It returns "" if no reboot is due.
func rebootDue(checks []job.Check) string {
	for _, c := range checks {
		if c.Name == job.RebootsCheck && c.Health == job.Limited {
			return c.Detail
		}
	}
	return ""
}

// problem returns the first of the checks with the worst health, or nil if all are healthy.
func problem(checks []job.Check) *job.Check {
	worst := job.Worst(checks)
	i := slices.IndexFunc(checks, func(c job.Check) bool { return worst != job.Healthy && c.Health == worst })
	if i < 0 {
		return nil
	}
	return &checks[i]
}

// handleHealth answers a request with all checks of health.
func (s *Server) handleHealth(r *request) (any, error) {
	checks := s.backend(r.Context()).Health(r.Context())
	return api.HealthReply{Schema: api.Schema, Health: job.Worst(checks), Checks: checks}, nil
}

// handleVersion answers a request with the versions of the running daemon and of its parts.
func (s *Server) handleVersion(*request) (any, error) {
	return api.VersionReply{
		Schema: api.Schema, Version: s.opt.Version, Commit: s.opt.Commit, Go: runtime.Version(),
		KeepScripts: s.opt.Config().Jobs.Snapshot == config.SnapshotScript,
	}, nil
}

// handleUnknown answers a request for a path that is not in the route table.
func (s *Server) handleUnknown(r *request) (any, error) {
	return nil, &api.Error{
		Code: api.CodeUsage, Message: fmt.Sprintf("this daemon does not know the request %s %q", r.Method, r.URL.Path),
		Hint: "is the client newer than the daemon? see 'gpusched version'",
	}
}

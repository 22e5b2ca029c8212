package server

import (
	"fmt"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// handleCancel ends a job, or only sends it a signal.
func (s *Server) handleCancel(r *request) (any, error) {
	in := r.body.(*api.CancelRequest)
	if in.Signal < 0 || in.Signal > contract.MaxSignal {
		return nil, usagef("%d is not a signal: use 1 to %d", in.Signal, contract.MaxSignal)
	}
	if err := checkGrace(in.Grace, in.Signal == 0); err != nil {
		return nil, err
	}
	if in.Main && in.Signal == 0 {
		return nil, usagef("a cancel ends the whole job: leave main out, or name a signal")
	}
	c := job.Command{Kind: job.CommandCancel, Unawaited: in.Unawaited, Grace: in.Grace}
	if in.Signal != 0 {
		if in.Unawaited {
			return nil, usagef("unawaited is for a cancel: leave it out of a signal")
		}
		c.Kind, c.Signal, c.Main = job.CommandSignal, in.Signal, in.Main
	}
	return s.jobCommand(r, c)
}

// checkGrace refuses a grace time that is out of range, and a grace time in a request that does not
// cancel a job.
func checkGrace(grace *job.Span, cancels bool) error {
	switch {
	case grace == nil:
		return nil
	case !cancels:
		return usagef("only a cancel has a grace: leave grace_seconds out")
	case *grace < 0 || grace.Duration() > job.MaxDuration:
		return usagef("grace_seconds is out of range: use 0 to %d", int64(job.MaxDuration.Seconds()))
	}
	return nil
}

// handleOpen lets the owner run commands in the unit of a running job.
func (s *Server) handleOpen(r *request) (any, error) {
	if err := s.mayEnter(r); err != nil {
		return nil, err
	}
	return s.jobCommand(r, job.Command{Kind: job.CommandOpen})
}

// simpleCommand returns the handler of a command without arguments.
func simpleCommand(kind job.CommandKind) func(*Server, *request) (any, error) {
	return func(s *Server, r *request) (any, error) { return s.jobCommand(r, job.Command{Kind: kind}) }
}

// handleUpdate changes a waiting job, or the time limit of a running job.
func (s *Server) handleUpdate(r *request) (any, error) {
	c := r.body.(*job.Change)
	if err := checkChange(c); err != nil {
		return nil, err
	}
	return s.jobCommand(r, job.Command{Kind: job.CommandUpdate, Change: c})
}

// jobCommand carries out a command about the job {id}, and answers with the changed job.
func (s *Server) jobCommand(r *request, c job.Command) (any, error) {
	t, err := s.jobs.targetInPath(r)
	if err != nil {
		return nil, err
	}
	c.Job = t.id
	if t.id == 0 {
		if c.Kind != job.CommandCancel {
			return nil, taskNotStarted(*t.task, c.Kind)
		}
		c.Job, c.Task = t.task.Array, &t.task.Index
	}
	if err := s.backend(r.Context()).Do(r.Context(), r.who, c); err != nil {
		return nil, err
	}
	v, err := s.jobs.jobInPath(r, job.Query{Reasons: true})
	return api.JobReply{Schema: api.Schema, Job: s.namer().renderJob(&v)}, err
}

// taskNotStarted refuses a command about a task that is not a job yet. Such a command can apply
// only to a job or a whole array.
func taskNotStarted(t job.Task, kind job.CommandKind) *api.Error {
	return &api.Error{
		Code: api.CodeConflict, Message: fmt.Sprintf("task %s has not started", t),
		Hint: fmt.Sprintf("only a cancel applies to such a task, not a %s; for the whole array name job %d ('gpusched show %d')", kind, t.Array, t.Array),
	}
}

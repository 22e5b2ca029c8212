package server

import (
	"sync/atomic"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/sandbox"
)

// process describes restrictions of the peer's process,
// which may have fewer rights than its account.
type process struct {
	limits  []contract.Limit
	sandbox string // result of sandbox.Process.Restricted
}

// newProcessOf returns a function that compares the rights of the peer's process with those of
// process 1. It does not compare with the daemon's rights, because the daemon itself runs in a
// sandbox. The rights of process 1 rarely change (its root directory does when a subvolume is
// renamed). The function reads them again only before it calls a process restricted.
func newProcessOf() func(peer) (process, error) {
	var known atomic.Pointer[sandbox.Reference]
	return func(p peer) (process, error) {
		who := sandbox.Peer{PID: p.pid, UID: p.uid, Seen: p.seen}
		if first := known.Load(); first != nil {
			if found, err := sandbox.Look(who, *first); err != nil || found.Restricted == "" {
				return process{limits: parseLimits(found.Limits)}, err
			}
		}
		first, err := sandbox.ReferenceTo(1)
		if err != nil {
			return process{}, err
		}
		if first.Complete() {
			known.Store(&first)
		}
		found, err := sandbox.Look(who, first)
		return process{parseLimits(found.Limits), found.Restricted}, err
	}
}

// submitterLimits returns the resource limits of the submitting process, which also apply to its
// job. If the limits cannot be read, the submission is refused, because the job would escape them.
// A submission from a sandbox is refused for the same reason.
func (s *Server) submitterLimits(r *request) ([]contract.Limit, error) {
	p, err := s.processOf(r.peer)
	if err != nil {
		return nil, &api.Error{
			Code:    api.CodeForbidden,
			Message: "cannot read the resource limits of the submitting process: " + err.Error(),
			Hint:    "a job has the limits of the process that submits it, so that process must wait for the answer, as 'gpusched submit' does",
		}
	}
	return p.limits, s.refuseSandboxed("jobs", p)
}

// mayEnter refuses a process in a sandbox that wants to run commands in a job's unit.
func (s *Server) mayEnter(r *request) error {
	p, err := s.processOf(r.peer)
	if err != nil {
		return &api.Error{
			Code:    api.CodeForbidden,
			Message: "cannot tell whether the calling process is in a sandbox: " + err.Error(),
			Hint:    "the process must wait for the answer, as 'gpusched exec' does",
		}
	}
	return s.refuseSandboxed("commands beside a job", p)
}

// refuseSandboxed refuses a process in a sandbox, if the requested command would run outside the
// sandbox.
func (s *Server) refuseSandboxed(what string, p process) error {
	if p.sandbox == "" || s.opt.Config().Jobs.AllowSandboxed {
		return nil
	}
	return &api.Error{
		Code:    api.CodeForbidden,
		Message: what + " from inside a sandbox are refused, since they would run outside of it; this process " + p.sandbox,
		Hint:    contract.SandboxHint,
	}
}

package server

import (
	"slices"

	"github.com/gpusched/gpusched/daemon/api"
)

// owns reports whether this scheduler is a user's own, and the peer is that user.
func (a *accounts) owns(p peer) bool { return a.opt.Own != nil && p.uid == a.opt.Own.UID }

// serves returns a refusal if this is a user's own scheduler, and the peer is neither that user nor
// root.
func (a *accounts) serves(p peer) error {
	if a.opt.Own == nil || a.owns(p) || p.uid == 0 {
		return nil
	}
	return a.notServed("it answers nobody else")
}

func (a *accounts) notServed(what string) error {
	return &api.Error{
		Code: api.CodeForbidden, Message: "this is " + a.opt.Own.User + "'s own scheduler (gpuschedd --user): " + what,
		Hint: "'gpusched' without --user asks the scheduler of the machine; 'systemctl --user start gpusched' starts one of your own",
	}
}

// ownership is what all jobs of a user's own scheduler have in common.
type ownership struct {
	own       bool
	unlimited []string
}

func (s *Server) ownership() ownership {
	o := ownership{own: s.opt.Own != nil}
	if o.own && s.opt.Unlimited != nil {
		o.unlimited = s.opt.Unlimited()
	}
	return o
}

// render adds two facts to a job: the user's systemd manages its unit, and some of its limits are
// not enforced.
func (o ownership) render(out *api.Job) {
	if !o.own {
		return
	}
	out.Manager, out.NotEnforced = api.UserManager, []string{"devices"}
	add := func(asked bool, controller, what string) {
		if asked && slices.Contains(o.unlimited, controller) {
			out.NotEnforced = append(out.NotEnforced, what)
		}
	}
	add(out.MemBytes > 0, "memory", "mem")
	add(out.CPUs > 0, "cpu", "cpus")
	add(true, "pids", "tasks")
}

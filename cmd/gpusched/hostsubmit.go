//go:build !quick

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// bestHost is the word for the machine on which a job starts first.
const bestHost = "best"

// newElsewhere is a job for another machine.
type newElsewhere struct {
	c       *jobOptions
	req     api.SubmitRequest
	fleet   *fleet
	hosts   []string // on which it may be
	dryRun  bool
	verbose bool // say why that one
}

// elsewhere makes the request for a job of another machine. finish puts in what only one command has.
func (c *jobOptions) elsewhere(
	ctx context.Context, a *app, finish func(*app, *api.SubmitRequest) error,
) (*newElsewhere, error) {
	n := &newElsewhere{c: c, fleet: a.fleet(), hosts: []string{c.Host}}
	if c.Host == bestHost {
		if n.hosts = a.hosts; len(n.hosts) == 0 {
			list, err := a.goodHosts()
			if err != nil {
				return nil, err
			}
			if list == "" {
				return nil, refuse(api.CodeUsage, "such as: gpusched --hosts a,b,c submit --host best -- python train.py, or set GPUSCHED_HOSTS",
					"--host best needs the names of the machines")
			}
			if n.hosts, err = hostList(list); err != nil {
				return nil, err
			}
		}
	} else if _, err := hostList(c.Host); err != nil {
		return nil, err
	}
	from := a
	if waits := slices.Concat(c.AfterStart, c.AfterOK, c.AfterFail, c.AfterAny); len(waits) > 0 {
		if c.Host == bestHost {
			return nil, refuse(api.CodeUsage, "name the machine that has them: --host NAME", "a job can wait for jobs of its own machine only")
		}
		p, err := n.fleet.at(ctx, c.Host)
		if err != nil {
			return nil, n.fleet.of(c.Host, err)
		}
		from = p.app
		for _, list := range [][]string{c.AfterStart, c.AfterOK, c.AfterFail, c.AfterAny} {
			for i, w := range list {
				list[i] = strings.TrimPrefix(w, c.Host+":")
			}
		}
	}
	req, err := c.request(ctx, from)
	if err != nil {
		return nil, err
	}
	n.req = req
	return n, finish(a, &n.req)
}

// open connects with a machine, which looks for the directory and the program first.
func (n *newElsewhere) open(ctx context.Context, host string) (*peer, error) {
	q := remote.Question{}
	if check := onlyAsked(n.req); !n.c.Force {
		q.Check = &check
	}
	p, err := n.fleet.a.reachHost(ctx, host, len(n.hosts), q)
	if err == nil && p.Refused != nil {
		err = p.Refused
	}
	return p, err
}

// onlyAsked is a request by which a machine is only asked something: it needs no secret of the environment to answer.
func onlyAsked(req api.SubmitRequest) api.SubmitRequest {
	req.Env = slices.DeleteFunc(slices.Clone(req.Env), func(entry []byte) bool {
		name, _, _ := strings.Cut(string(entry), "=")
		return name != "PATH" && name != "HOME"
	})
	return req
}

// offer is what a machine says of a job that it does not have yet.
type offer struct {
	host  string
	place *peer
	reply api.SubmitReply
	err   error
}

// wait is for how long the job would wait there; unknown: nobody can say.
func (o *offer) wait() (wait time.Duration, unknown bool) {
	j := o.reply.Job
	switch {
	case j.State != job.Queued, j.Why == "" && j.ExpectedStart.IsZero() && !j.StartUnknown:
		return 0, false // a dry run queues nothing: that it waits for nothing is its start
	case !j.ExpectedStart.IsZero():
		return max(0, time.Until(j.ExpectedStart)-o.place.ahead), false
	}
	return 0, true
}

// said is the offer in a few words.
func (o *offer) said() string {
	j := o.reply.Job
	if o.err != nil {
		return plainError(o.err).Error()
	}
	switch wait, unknown := o.wait(); {
	case unknown:
		return "would wait, nobody can say how long" + colon(j.Why)
	case !j.ExpectedStart.IsZero():
		return "starts in about " + spell(wait) + colon(j.Why)
	case len(j.GPUs) > 0:
		return "starts now, on " + gpuNames(j.GPUs)
	}
	return "starts now"
}

// spell is a wait for people: minutes are exact enough.
func spell(d time.Duration) string {
	if d < time.Minute {
		return "a minute"
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

// offers asks each machine by a dry run.
func (n *newElsewhere) offers(ctx context.Context) []offer {
	list := make([]offer, len(n.hosts))
	errs := n.fleet.eachOf(ctx, n.hosts, func(ctx context.Context, i int) error {
		p, err := n.open(ctx, n.hosts[i])
		if err != nil {
			return err
		}
		req := onlyAsked(n.requestFor(p))
		req.DryRun = true
		list[i].place = p
		list[i].reply, err = p.app.client.Submit(ctx, req)
		return err
	})
	for i := range list {
		list[i].host, list[i].err = n.hosts[i], errs[i]
	}
	return list
}

// first is the offer with the earliest start; of equal ones that of the machine which is named first. nil:
// there is none.
func first(list []offer) *offer {
	var best *offer
	for i := range list {
		o := &list[i]
		if o.err == nil && (best == nil || sooner(o, best)) {
			best = o
		}
	}
	return best
}

func sooner(x, y *offer) bool {
	waitX, unknownX := x.wait()
	waitY, unknownY := y.wait()
	if unknownX || unknownY {
		return !unknownX
	}
	return waitX < waitY
}

// submit queues the job on the machine that is named, or on the best. Once that has been asked to, no other
// machine is.
func (n *newElsewhere) submit(ctx context.Context) (api.SubmitReply, *peer, error) {
	host := n.hosts[0]
	var p *peer
	if n.c.Host == bestHost {
		list := n.offers(ctx)
		best := first(list)
		if best == nil {
			return api.SubmitReply{}, nil, n.refusedByAll(list)
		}
		if n.verbose {
			for _, o := range list {
				n.fleet.a.note("%s %s", o.host+":", o.said())
			}
		}
		if host, p = best.host, best.place; n.dryRun {
			return best.reply, p, nil
		}
	} else {
		var err error
		if p, err = n.open(ctx, host); err != nil {
			return api.SubmitReply{}, nil, n.fleet.of(host, err)
		}
	}
	req := n.requestFor(p)
	if req.DryRun = n.dryRun; n.dryRun {
		req = onlyAsked(req)
	}
	reply, err := p.app.client.Submit(ctx, req)
	return reply, p, n.unsure(host, err)
}

// unsure says of a submission that was cut off what is known of it.
func (n *newElsewhere) unsure(host string, err error) error {
	var e *api.Error
	if errors.As(err, &e) && e.Code == api.CodeUnreachable && !n.dryRun {
		lost := *e
		lost.Message = fmt.Sprintf("%s; nobody can say whether %s has queued the job, and no other machine was asked to", e.Message, host)
		lost.Hint = fmt.Sprintf("see 'gpusched %s %s list --mine -a' when it answers again, before you submit it anew", hostsFlag, host)
		lost.Message = host + ": " + lost.Message
		return &lost
	}
	return n.fleet.of(host, err)
}

// refusedByAll says why no machine takes a job.
func (n *newElsewhere) refusedByAll(list []offer) error {
	errs := make([]error, len(list))
	for i := range list {
		errs[i] = list[i].err
	}
	return n.fleet.complainOf(n.hosts, errs)
}

// requestFor is the request as it is for one machine: what the environment says of this machine and of the
// account here is not true there.
func (n *newElsewhere) requestFor(p *peer) api.SubmitRequest {
	req := n.req
	if p.app.host == remote.Here {
		return req
	}
	account := map[string]string{"HOME": p.Home, "USER": p.User, "LOGNAME": p.User, "SHELL": p.Shell}
	req.Env = nil
	for _, entry := range n.req.Env {
		name, _, _ := strings.Cut(string(entry), "=")
		switch own, is := account[name]; {
		case isSet(n.c.SetEnv, name) || slices.Contains(n.c.SetEnv, name):
			req.Env = append(req.Env, entry)
		case is && own != "":
			req.Env = append(req.Env, []byte(name+"="+own))
		case slices.Contains(boundVariables, name):
		default:
			req.Env = append(req.Env, entry)
		}
	}
	return req
}

// boundVariables lead to sockets, screens and sessions of this machine.
var boundVariables = strings.Fields("DBUS_SESSION_BUS_ADDRESS DISPLAY GPUSCHED_HOSTS GPUSCHED_SOCKET HOSTNAME SSH_AUTH_SOCK SSH_CLIENT " +
	"SSH_CONNECTION SSH_TTY STY TMUX TMUX_PANE WAYLAND_DISPLAY XAUTHORITY XDG_RUNTIME_DIR XDG_SESSION_ID")

// submitElsewhere queues the job on another machine.
func (c *submitCmd) submitElsewhere(ctx context.Context, a *app) error {
	if c.File != "" {
		return refuse(api.CodeUsage, "log in there, or submit line by line", "--file is for this machine's queue")
	}
	n, err := c.elsewhere(ctx, a, func(a *app, req *api.SubmitRequest) (err error) {
		req.Array, err = arraySpec(c.Tasks, c.Param)
		if err == nil && req.Array != nil {
			a.hintParams(*req)
		}
		return err
	})
	if err != nil {
		return err
	}
	c.hintMisplaced(a)
	n.dryRun, n.verbose = c.DryRun, !c.Quiet
	reply, p, err := n.submit(ctx)
	if err != nil {
		return err
	}
	p.app.hintLimit(&c.jobOptions, reply.Job)
	if c.form() == "table" && !c.Quiet {
		p.app.hintMemory(reply.Job)
	}
	if c.DryRun && c.form() == "table" && !c.Quiet {
		a.out.Printf("on %s:\n", p.app.host)
	}
	if err := c.report(p.app, reply); err != nil || !c.Wait || c.DryRun {
		return err
	}
	a.out.W.Flush()
	if c.Quiet || c.form() != "table" || reply.Job.Array != nil {
		return p.app.follow(ctx, reply.Job.ID, c.Quiet || c.form() != "table")
	}
	return p.app.stayWith(ctx, reply.Job, false, false)
}

// runElsewhere queues the job on another machine and stands for it.
func (c *runCmd) runElsewhere(ctx context.Context, a *app) error {
	n, err := c.elsewhere(ctx, a, func(a *app, req *api.SubmitRequest) error {
		if c.TTY {
			inTerminal(a, req)
		}
		return nil
	})
	if err != nil {
		return err
	}
	n.verbose = !c.Quiet
	reply, p, err := n.submit(ctx)
	if err != nil {
		return waitError(ctx, err)
	}
	p.app.hintLimit(&c.jobOptions, reply.Job)
	p.app.hintMemory(reply.Job)
	if !c.Quiet {
		a.note("job %s is on %s", nameOfJob(reply.Job), p.app.host)
	}
	return p.app.stayWith(ctx, reply.Job, c.TTY, c.Quiet)
}

// stayWith shows what a job of another machine prints, or its terminal, and ends as it does.
func (a *app) stayWith(ctx context.Context, j api.Job, tty, quiet bool) error {
	if a.host == remote.Here {
		j.Host = ""
		if tty {
			return a.attendTerminal(ctx, j, quiet)
		}
		return a.attend(ctx, j, quiet)
	}
	words := []string{attendCommand, "output", "loud", j.ID.String()}
	if tty {
		words[1] = "tty"
	}
	if quiet {
		words[2] = "quiet"
	}
	return a.overSSH(ctx, a.host, words)
}

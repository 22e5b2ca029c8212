package client

import (
	"cmp"
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
	hosts   []string         // on which it may be
	lacks   map[string]error // what keeps it from one
	dryRun  bool
	verbose bool // say why that one
	ofFile  bool // it is one of many
}

// elsewhere makes the request for a job of another machine. finish puts in what only one command has.
func (c *jobOptions) elsewhere(
	ctx context.Context, a *app, f *fleet, finish func(*app, *api.SubmitRequest) error,
) (*newElsewhere, error) {
	if a.other() != nil {
		return nil, refuse(api.CodeUsage,
			fmt.Sprintf("leave it out, or type 'gpusched %s %s %s --host %s …'", onFlag, engineLocal, a.words[0], c.Host),
			"--host asks gpusched on a machine, and Slurm is the engine here")
	}
	n := &newElsewhere{c: c, fleet: f, hosts: []string{c.Host}}
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
		there := *p.app
		there.words, from = a.words, &there
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
	given int // jobs that it has got by this command
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
		p, err := n.place(n.hosts[i])
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
		list[i].host, list[i].err, list[i].given = n.hosts[i], errs[i], n.fleet.given[n.hosts[i]]
	}
	return list
}

// first is the offer with the earliest start; of equal ones that of the machine which has got fewest jobs, then
// of the one that is named first. nil: there is none.
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
	switch {
	case unknownX != unknownY:
		return unknownY
	case unknownX || waitX == waitY:
		return x.given < y.given
	}
	return waitX < waitY
}

// submit queues the job on the machine that is named, or on the best. Once that has been asked to, no other
// machine is; before, the machine that is returned is nil.
func (n *newElsewhere) submit(ctx context.Context) (api.SubmitReply, *peer, error) {
	host := n.hosts[0]
	var p *peer
	if n.c.Host == bestHost {
		list := n.offers(ctx)
		best := first(list)
		if best == nil {
			return api.SubmitReply{}, nil, cmp.Or(ctx.Err(), n.refusedByAll(list))
		}
		n.tell(list)
		if host, p = best.host, best.place; n.dryRun {
			return best.reply, p, nil
		}
	} else {
		var err error
		if p, err = n.place(host); err != nil {
			return api.SubmitReply{}, nil, n.fleet.of(host, err)
		}
	}
	req := n.requestFor(p)
	if req.DryRun = n.dryRun; n.dryRun {
		req = onlyAsked(req)
	}
	reply, err := p.app.client.Submit(ctx, req)
	if err == nil {
		n.fleet.given[host]++
	}
	return reply, p, n.unsure(host, err)
}

// tell says what each machine offers. One that has not answered is not asked again for the other jobs of a file.
func (n *newElsewhere) tell(list []offer) {
	for _, o := range list {
		if n.verbose {
			n.fleet.a.note("%s: %s", o.host, o.said())
		}
		if n.ofFile && o.err != nil && wireError(o.err).Code == api.CodeUnreachable {
			n.fleet.lose(o.host, o.err)
		}
	}
}

// lose has a machine not asked any more, which is said once.
func (f *fleet) lose(host string, err error) {
	if f.lost[host] == nil {
		f.lost[host] = err
		f.a.note("%s: %s; no more is asked of it", host, plainError(err))
	}
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

// refusedByAll says why no machine takes a job, each on a line, with the code of the first.
func (n *newElsewhere) refusedByAll(list []offer) error {
	all := &api.Error{}
	for _, o := range list {
		e := wireError(n.fleet.of(o.host, o.err))
		all.Code = cmp.Or(all.Code, e.Code)
		all.Message += "\n" + e.Error()
	}
	all.Message = all.Message[1:]
	return all
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
	n, err := c.elsewhere(ctx, a, a.fleet(), func(a *app, req *api.SubmitRequest) (err error) {
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
	n.fleet.reach(ctx, n)
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
	if err := c.report(ctx, p.app, reply); err != nil || !c.Wait || c.DryRun {
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
	n, err := c.elsewhere(ctx, a, a.fleet(), func(a *app, req *api.SubmitRequest) error {
		if c.TTY {
			inTerminal(a, req)
		}
		return nil
	})
	if err != nil {
		return err
	}
	n.verbose = !c.Quiet
	n.fleet.reach(ctx, n)
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

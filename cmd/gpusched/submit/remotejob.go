package submit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/afar"
	"github.com/gpusched/gpusched/cmd/gpusched/attach"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// BestHost is a value of --host. It means the machine on which the job would start first.
const BestHost = "best"

// A fleet is what one command remembers about the other machines on which it queues jobs.
type fleet struct {
	queued  map[string]int   // number of jobs that this command has queued, by machine
	dropped map[string]error // why a machine is not asked again, by machine
}

func newFleet() *fleet { return &fleet{queued: map[string]int{}, dropped: map[string]error{}} }

// A remoteJob is a job that will be queued on another machine.
type remoteJob struct {
	a       *cli.App
	c       *JobOptions
	words   []string // the command line as it was typed
	fleet   *fleet
	hosts   []string         // the candidate machines
	lacks   map[string]error // why a candidate can't run the job, by machine
	dryRun  bool
	verbose bool // print every machine's offer
	ofFile  bool // the job is a line of a file of jobs
}

// newRemoteJob returns the job that a command line with --host describes. It passes the words on as
// they were typed. The other machine's gpusched interprets them and reads any script that they
// name, as if they had been typed there.
func (c *JobOptions) newRemoteJob(a *cli.App, f *fleet) (*remoteJob, error) {
	if a.Other() != nil {
		return nil, cli.Refuse(api.CodeUsage,
			fmt.Sprintf("leave it out, or type 'gpusched %s %s %s --host %s …'", cli.OnFlag, cli.EngineLocal, a.Words[0], c.Host),
			"--host needs gpusched as the engine, and the engine here is Slurm")
	}
	n := &remoteJob{a: a, c: c, words: a.Words, fleet: f, hosts: []string{c.Host}, lacks: map[string]error{}}
	if c.Host != BestHost {
		_, err := afar.HostList(c.Host)
		return n, err
	}
	if len(c.AfterStart)+len(c.AfterOK)+len(c.AfterFail)+len(c.AfterAny) > 0 {
		return nil, cli.Refuse(api.CodeUsage, "name the machine that has them: --host NAME", "a job can depend on jobs of its own machine only")
	}
	if n.hosts = a.Hosts; len(n.hosts) > 0 {
		return n, nil
	}
	list, err := afar.CheckedHosts(a)
	if err == nil && list == "" {
		err = cli.Refuse(api.CodeUsage, "such as: gpusched --hosts a,b,c submit --host best -- python train.py, or set GPUSCHED_HOSTS",
			"--host best needs the names of the machines")
	}
	if err == nil {
		n.hosts, err = afar.HostList(list)
	}
	return n, err
}

// ask asks a machine to queue the job. If dryRun is set, it asks only what would happen.
func (n *remoteJob) ask(ctx context.Context, host string, dryRun bool, key string) (remote.Answer, error) {
	dir, err := jobenv.WorkDir(n.a, "")
	if err != nil {
		return remote.Answer{}, err
	}
	j := &remote.NewJob{Dir: api.Bytes(dir), Umask: n.a.Umask, Key: key, DryRun: dryRun}
	words := n.words
	if host != remote.Here {
		j.Environ = environFor(n.a.Environ, n.c.SetEnv, dryRun)
		if dryRun {
			words = withoutValues(words, n.c.SetEnv)
		}
	}
	one := *n.a
	one.Hosts = []string{host} // so that ids without a machine mean jobs of that machine
	return afar.AskHost(ctx, &one, host, remote.Typed{Words: words, Job: j}, len(n.hosts))
}

// askOffer gets a machine's offer by a dry run.
func (n *remoteJob) askOffer(ctx context.Context, host string) (o offer) {
	o.host, o.queued, o.err = host, n.fleet.queued[host], cmp.Or(n.lacks[host], n.fleet.dropped[host])
	if o.err != nil {
		return o
	}
	limited, cancel := context.WithTimeout(ctx, remote.Patience)
	defer cancel()
	var ans remote.Answer
	if ans, o.err = n.ask(limited, host, true, ""); o.err == nil {
		o.err = afar.ReadDocument(host, ans, &o.reply)
		o.said = ans.Said
	}
	return o
}

// An offer is a machine's answer to a dry run of the job.
type offer struct {
	host   string
	reply  api.SubmitReply
	said   string // other output of the machine's gpusched
	queued int    // number of jobs that this command has queued there
	err    error
}

// wait returns how long the job would wait on that machine, by that machine's clock. If nothing
// predicts that time, the second result is true.
func (o *offer) wait() (wait time.Duration, unknown bool) {
	j := o.reply.Job
	switch {
	case j.State != job.Queued, j.Why == "" && len(j.Reasons) == 0 && j.ExpectedStart.IsZero() && !j.StartUnknown:
		return 0, false // the job would start at once; it is only queued because a dry run starts no job
	case !j.ExpectedStart.IsZero():
		return max(0, j.ExpectedStart.Sub(j.SubmittedAt)), false
	}
	return 0, true
}

// describe describes a machine's offer in a few words.
func (n *remoteJob) describe(o *offer) string {
	j := o.reply.Job
	if o.err != nil {
		return cli.OneLine(o.err)
	}
	switch wait, unknown := o.wait(); {
	case unknown:
		return "would wait for an unknown time" + n.a.Because(j)
	case !j.ExpectedStart.IsZero():
		return "starts in about " + roundWait(wait) + n.a.Because(j)
	case len(j.GPUs) > 0:
		return "starts now, on " + cli.GPUNames(j.GPUs)
	}
	return "starts now"
}

// roundWait formats a wait, rounded to minutes.
func roundWait(d time.Duration) string {
	if d < time.Minute {
		return "a minute"
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

// askAll asks all candidates at the same time.
func (n *remoteJob) askAll(ctx context.Context) []offer {
	list := make([]offer, len(n.hosts))
	var all sync.WaitGroup
	for i, host := range n.hosts {
		all.Go(func() { list[i] = n.askOffer(ctx, host) })
	}
	all.Wait()
	return list
}

// earliest returns the offer with the earliest start. If all offers failed, it returns nil. Among
// equal offers it prefers the machine that got the fewest jobs, then the machine that was named
// first.
func earliest(list []offer) *offer {
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
		return x.queued < y.queued
	}
	return waitX < waitY
}

// submit queues the job on the named machine, or on the best one. The second result is the machine
// that got the request. Once a machine has got the request, no other machine may be asked.
func (n *remoteJob) submit(ctx context.Context) (reply api.SubmitReply, host string, err error) {
	list := []offer{{host: n.hosts[0], err: cmp.Or(n.lacks[n.hosts[0]], n.fleet.dropped[n.hosts[0]])}}
	switch {
	case n.c.Host == BestHost:
		list = n.askAll(ctx)
	case n.dryRun:
		list[0] = n.askOffer(ctx, n.hosts[0])
	}
	best := earliest(list)
	if best == nil {
		return reply, "", cmp.Or(ctx.Err(), n.refusedByAll(list))
	}
	if n.c.Host == BestHost {
		n.printOffers(list)
	}
	if n.dryRun {
		afar.PassOn(n.a, best.host, best.said)
		return best.reply, best.host, nil
	}
	reply, err = n.queue(ctx, best.host)
	return reply, best.host, err
}

// queue asks a machine to queue the job. If the connection breaks, it asks again with the same key,
// so that only one job is queued.
func (n *remoteJob) queue(ctx context.Context, host string) (reply api.SubmitReply, err error) {
	key := api.NewKey()
	whole, cancel := context.WithTimeout(ctx, afar.ActTime+afar.LostTime)
	defer cancel()
	noted := false
	ans, cut, err := afar.UntilAnswered(whole, func() (remote.Answer, error) {
		limited, cancel := context.WithTimeout(whole, afar.ActTime)
		defer cancel()
		ans, err := n.ask(limited, host, false, key)
		if errors.As(err, new(*remote.CutError)) && !noted {
			noted = true
			n.a.Note("%s: %s; asking again, which can't queue a second job", host, cli.OneLine(err))
		}
		return ans, err
	})
	if err == nil {
		err = afar.ReadDocument(host, ans, &reply)
	}
	if err == nil {
		n.fleet.queued[host]++
		afar.PassOn(n.a, host, ans.Said)
		return reply, nil
	}
	var e *api.Error
	if !cut || !errors.As(err, &e) {
		return reply, cmp.Or(ctx.Err(), afar.ErrorOf(host, err))
	}
	return reply, cli.Refuse(e.Code, fmt.Sprintf("when it answers again, look at 'gpusched %s %s list --mine -a' before you submit the job again", cli.HostsFlag, host),
		"%s: %s; %s may have queued the job, so no other machine is asked to", host, e.Message, host)
}

// printOffers prints each machine's offer if n.verbose is set. If a machine did not answer, it is
// not asked again for other lines of the file.
func (n *remoteJob) printOffers(list []offer) {
	for _, o := range list {
		if n.verbose {
			n.a.Note("%s: %s", o.host, n.describe(&o))
		}
		if n.ofFile && o.err != nil && afar.WireError(o.err).Code == api.CodeUnreachable {
			drop(n.a, n.fleet, o.host, o.err)
		}
	}
}

// drop excludes a machine from further requests. The first time, it prints a message.
func drop(a *cli.App, f *fleet, host string, err error) {
	if f.dropped[host] == nil {
		f.dropped[host] = err
		a.Note("%s: %s; it is not asked again", host, cli.OneLine(err))
	}
}

// refusedByAll returns an error that lists the machines' refusals, one on each line. It has the
// code of the first refusal.
func (n *remoteJob) refusedByAll(list []offer) error {
	all := &api.Error{}
	for _, o := range list {
		e := afar.WireError(afar.ErrorOf(o.host, o.err))
		all.Code = cmp.Or(all.Code, e.Code)
		all.Message += "\n" + e.Error()
	}
	all.Message = all.Message[1:]
	return all
}

// submitRemote queues the job on another machine.
func (c *Cmd) submitRemote(ctx context.Context, a *cli.App) error {
	n, err := c.newRemoteJob(a, newFleet())
	if err != nil {
		return err
	}
	n.dryRun, n.verbose = c.DryRun, !c.Quiet
	reply, host, err := n.submit(ctx)
	if err != nil {
		return err
	}
	there := *a
	there.Host = host
	if c.DryRun && c.Form() == "table" && !c.Quiet {
		a.Out.Printf("on %s:\n", host)
	}
	if err := c.report(ctx, &there, reply); err != nil || !c.Wait || c.DryRun {
		return err
	}
	a.Out.W.Flush()
	if c.Quiet || c.Form() != "table" || reply.Job.Array != nil {
		there.Words, there.Far = []string{"wait", reply.Job.ID.String()}, []string{host}
		there.Hosts, there.Host = there.Far, ""
		return (&attach.WaitCmd{Quiet: c.Quiet || c.Form() != "table"}).WaitFar(ctx, &there)
	}
	return stayWith(ctx, &there, reply.Job, false, false)
}

// runRemote queues the job on another machine and stays with the job until it ends.
func (c *RunCmd) runRemote(ctx context.Context, a *cli.App) error {
	n, err := c.newRemoteJob(a, newFleet())
	if err != nil {
		return err
	}
	n.verbose = !c.Quiet
	reply, host, err := n.submit(ctx)
	if err != nil {
		return cli.WaitError(ctx, err)
	}
	if !c.Quiet {
		a.Note("job %s is on %s", cli.NameOfJob(reply.Job), host)
	}
	there := *a
	there.Host = host
	return stayWith(ctx, &there, reply.Job, c.TTY, c.Quiet)
}

// stayWith shows the output or terminal of another machine's job. It returns the job's exit status.
func stayWith(ctx context.Context, a *cli.App, j api.Job, tty, quiet bool) error {
	if a.Host == remote.Here {
		a.Host, j.Host = "", ""
		if tty {
			return attach.AttendTerminal(ctx, a, j, quiet)
		}
		return attach.Attend(ctx, a, j, quiet)
	}
	words := []string{afar.AttendCommand, "output", "loud", j.ID.String()}
	if tty {
		words[1] = "tty"
	}
	if quiet {
		words[2] = "quiet"
	}
	return afar.OverSSH(ctx, a, a.Host, words, false)
}

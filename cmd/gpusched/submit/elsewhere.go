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

// BestHost is the word for the machine on which a job starts first.
const BestHost = "best"

// fleet is what the jobs of a command that queues on other machines have in common.
type fleet struct {
	given map[string]int   // jobs that machines have got
	lost  map[string]error // what kept machines from answering that are asked no more
}

func newFleet() *fleet { return &fleet{given: map[string]int{}, lost: map[string]error{}} }

// newElsewhere is a job for another machine.
type newElsewhere struct {
	a       *cli.App
	c       *JobOptions
	words   []string // its command line
	fleet   *fleet
	hosts   []string         // on which it may be
	lacks   map[string]error // what keeps it from one
	dryRun  bool
	verbose bool // say why that one
	ofFile  bool // it is one of many
}

// elsewhere is the job of a command line for another machine. Its words are as they were typed: the gpusched that
// queues the job makes of them, and of a script that they name, what it would if they were typed there.
func (c *JobOptions) elsewhere(a *cli.App, f *fleet) (*newElsewhere, error) {
	if a.Other() != nil {
		return nil, cli.Refuse(api.CodeUsage,
			fmt.Sprintf("leave it out, or type 'gpusched %s %s %s --host %s …'", cli.OnFlag, cli.EngineLocal, a.Words[0], c.Host),
			"--host asks gpusched on a machine, and Slurm is the engine here")
	}
	n := &newElsewhere{a: a, c: c, words: a.Words, fleet: f, hosts: []string{c.Host}, lacks: map[string]error{}}
	if c.Host != BestHost {
		_, err := afar.HostList(c.Host)
		return n, err
	}
	if len(c.AfterStart)+len(c.AfterOK)+len(c.AfterFail)+len(c.AfterAny) > 0 {
		return nil, cli.Refuse(api.CodeUsage, "name the machine that has them: --host NAME", "a job can wait for jobs of its own machine only")
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

// ask has a machine queue the job, or say what it would do with it.
func (n *newElsewhere) ask(ctx context.Context, host string, dryRun bool, key string) (remote.Answer, error) {
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
	one.Hosts = []string{host} // ids that name no machine are of this one
	return afar.AskHost(ctx, &one, host, remote.Typed{Words: words, Job: j}, len(n.hosts))
}

// offerOf asks a machine by a dry run.
func (n *newElsewhere) offerOf(ctx context.Context, host string) (o offer) {
	o.host, o.given, o.err = host, n.fleet.given[host], cmp.Or(n.lacks[host], n.fleet.lost[host])
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

// offer is what a machine says of a job that it does not have yet.
type offer struct {
	host  string
	reply api.SubmitReply
	said  string // what its gpusched said besides
	given int    // jobs that it has got by this command
	err   error
}

// wait is how long the job would wait there, by the clock there; unknown: nobody can say.
func (o *offer) wait() (wait time.Duration, unknown bool) {
	j := o.reply.Job
	switch {
	case j.State != job.Queued, j.Why == "" && len(j.Reasons) == 0 && j.ExpectedStart.IsZero() && !j.StartUnknown:
		return 0, false // a dry run queues nothing: that it waits for nothing is its start
	case !j.ExpectedStart.IsZero():
		return max(0, j.ExpectedStart.Sub(j.SubmittedAt)), false
	}
	return 0, true
}

// offered says in a few words what a machine offers.
func (n *newElsewhere) offered(o *offer) string {
	j := o.reply.Job
	if o.err != nil {
		return cli.OneLine(o.err)
	}
	switch wait, unknown := o.wait(); {
	case unknown:
		return "would wait, nobody can say how long" + n.a.Because(j)
	case !j.ExpectedStart.IsZero():
		return "starts in about " + spell(wait) + n.a.Because(j)
	case len(j.GPUs) > 0:
		return "starts now, on " + cli.GPUNames(j.GPUs)
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

// offers asks all machines at once.
func (n *newElsewhere) offers(ctx context.Context) []offer {
	list := make([]offer, len(n.hosts))
	var all sync.WaitGroup
	for i, host := range n.hosts {
		all.Go(func() { list[i] = n.offerOf(ctx, host) })
	}
	all.Wait()
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
// machine is; before, the name that is returned is "".
func (n *newElsewhere) submit(ctx context.Context) (reply api.SubmitReply, host string, err error) {
	list := []offer{{host: n.hosts[0], err: cmp.Or(n.lacks[n.hosts[0]], n.fleet.lost[n.hosts[0]])}}
	switch {
	case n.c.Host == BestHost:
		list = n.offers(ctx)
	case n.dryRun:
		list[0] = n.offerOf(ctx, n.hosts[0])
	}
	best := first(list)
	if best == nil {
		return reply, "", cmp.Or(ctx.Err(), n.refusedByAll(list))
	}
	if n.c.Host == BestHost {
		n.tell(list)
	}
	if n.dryRun {
		afar.PassOn(n.a, best.host, best.said)
		return best.reply, best.host, nil
	}
	reply, err = n.queue(ctx, best.host)
	return reply, best.host, err
}

// queue has a machine queue the job. If the connection breaks it is asked again with the same key, which queues one
// job.
func (n *newElsewhere) queue(ctx context.Context, host string) (reply api.SubmitReply, err error) {
	key := api.NewKey()
	whole, cancel := context.WithTimeout(ctx, afar.ActTime+afar.LostTime)
	defer cancel()
	told := false
	ans, cut, err := afar.UntilAnswered(whole, func() (remote.Answer, error) {
		limited, cancel := context.WithTimeout(whole, afar.ActTime)
		defer cancel()
		ans, err := n.ask(limited, host, false, key)
		if errors.As(err, new(*remote.CutError)) && !told {
			told = true
			n.a.Note("%s: %s; it is asked again, which queues no second job", host, cli.OneLine(err))
		}
		return ans, err
	})
	if err == nil {
		err = afar.ReadDocument(host, ans, &reply)
	}
	if err == nil {
		n.fleet.given[host]++
		afar.PassOn(n.a, host, ans.Said)
		return reply, nil
	}
	var e *api.Error
	if !cut || !errors.As(err, &e) {
		return reply, cmp.Or(ctx.Err(), afar.ErrorOf(host, err))
	}
	return reply, cli.Refuse(e.Code, fmt.Sprintf("see 'gpusched %s %s list --mine -a' when it answers again, before you submit it anew", cli.HostsFlag, host),
		"%s: %s; nobody can say whether %s has queued the job, and no other machine was asked to", host, e.Message, host)
}

// tell says what each machine offers. One that has not answered is not asked again for the other jobs of a file.
func (n *newElsewhere) tell(list []offer) {
	for _, o := range list {
		if n.verbose {
			n.a.Note("%s: %s", o.host, n.offered(&o))
		}
		if n.ofFile && o.err != nil && afar.WireError(o.err).Code == api.CodeUnreachable {
			lose(n.a, n.fleet, o.host, o.err)
		}
	}
}

// lose makes a machine one that is not asked any more, which is said once.
func lose(a *cli.App, f *fleet, host string, err error) {
	if f.lost[host] == nil {
		f.lost[host] = err
		a.Note("%s: %s; no more is asked of it", host, cli.OneLine(err))
	}
}

// refusedByAll says why no machine takes a job, each on a line, with the code of the first.
func (n *newElsewhere) refusedByAll(list []offer) error {
	all := &api.Error{}
	for _, o := range list {
		e := afar.WireError(afar.ErrorOf(o.host, o.err))
		all.Code = cmp.Or(all.Code, e.Code)
		all.Message += "\n" + e.Error()
	}
	all.Message = all.Message[1:]
	return all
}

// submitElsewhere queues the job on another machine.
func (c *Cmd) submitElsewhere(ctx context.Context, a *cli.App) error {
	n, err := c.elsewhere(a, newFleet())
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

// runElsewhere queues the job on another machine and stands for it.
func (c *RunCmd) runElsewhere(ctx context.Context, a *cli.App) error {
	n, err := c.elsewhere(a, newFleet())
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

// stayWith shows what a job of another machine prints, or its terminal, and ends as it does.
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

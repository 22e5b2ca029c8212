package client

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/afar"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/logs"
	"github.com/gpusched/gpusched/cmd/gpusched/look"
	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/cmd/gpusched/site"
	"github.com/gpusched/gpusched/cmd/gpusched/submit"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// A call is a parsed command line.
type call struct {
	selected any // the struct of the command
	about    cli.About
	ids      idWords
	path     string // the words of the command, such as "gpusched gpu pause"
	run      func(*cli.App) error
}

// runEverywhere runs a command on the machines that its options and ids name.
func runEverywhere(ctx context.Context, a *cli.App, c call) error {
	words := c.ids.words()
	if a.Asked != nil {
		if len(words) > 0 {
			c.ids.set(a.Asked.OwnWords(words))
		}
		return c.run(a)
	}
	hosts := afar.HostsNamed(words)
	if len(a.Hosts) == 1 && len(words) > 0 {
		hosts = afar.HostsNamed(job.Each(words, func(w string) string { return withHost(a.Hosts[0], w) }))
	}
	switch {
	case len(hosts) > 1 || len(hosts) == 1 && hosts[0] != "":
		return byIDs(ctx, a, c, words, hosts)
	case len(hosts) == 1 && a.HostsGiven: // no job names a machine, but --hosts was given
		return cli.Refuse(api.CodeUsage, fmt.Sprintf("such as %s:%s", a.Hosts[0], words[0]),
			"name the machine of job %s", words[0])
	case len(hosts) == 1 || len(a.Hosts) == 0:
		return c.run(a)
	}
	if j, ok := c.selected.(submit.NewJob); ok {
		return newJobOn(a, c, j)
	}
	if len(a.Hosts) == 1 {
		return onHost(ctx, a, c, a.Hosts[0])
	}
	return onHosts(ctx, a, c)
}

// newJobOn queues a job on the machine that --hosts names. --hosts may name several machines only
// if --host chooses among them.
func newJobOn(a *cli.App, c call, j submit.NewJob) error {
	if o := j.Options(); o.Host == "" && len(a.Hosts) == 1 {
		o.Host = a.Hosts[0]
	} else if o.Host == "" {
		return cli.Refuse(api.CodeUsage, "--host NAME, or --host best for the one where the job starts first", "no machine is chosen for the job")
	}
	return c.run(a)
}

// shownHere reports whether this gpusched prints the answer of another machine. If so, this
// gpusched reads the machine's JSON document and puts the machine's name before jobs and GPUs.
// Other commands run on the machine as they were typed.
func (c call) shownHere() bool {
	return c.about.Host == cli.ShownHere || c.about.Jobs == cli.Divided && len(c.ids.words()) > 0
}

// onHost runs a command on one machine. All jobs that the command names are on that machine.
func onHost(ctx context.Context, a *cli.App, c call, host string) error {
	switch {
	case c.shownHere():
		there := *a
		there.Host, there.Own = host, a.Own && host == remote.Here
		if c.about.Jobs == cli.Divided {
			there.Far = []string{host}
		}
		return afar.ComplainOf(a, host, c.run(&there))
	case host == remote.Here:
		if words := c.ids.words(); len(words) > 0 {
			c.ids.set((&cli.FromAfar{Called: host, Plain: true}).OwnWords(words))
		}
		return c.run(a)
	case c.about.Host == cli.OnlyHere:
		return cli.Refuse(api.CodeUsage, fmt.Sprintf("log in there: ssh %s", host), "'%s' works only on the machine on which it is typed", c.path)
	}
	return afar.OverSSH(ctx, a, host, a.Words, c.about.OwnInput)
}

// onHosts runs a command on several machines. The command names no job.
func onHosts(ctx context.Context, a *cli.App, c call) error {
	switch {
	case c.about.Hosts == cli.Together:
		return c.screenFunc()(ctx, a)
	case c.about.Hosts != cli.InTurn:
		return cli.Refuse(api.CodeUsage, fmt.Sprintf("such as: gpusched %s %s %s", cli.HostsFlag, a.Hosts[0], strings.TrimPrefix(c.path, "gpusched ")),
			"'%s' is for one machine at a time", c.path)
	case !isText(c.selected):
		return cli.Refuse(api.CodeUsage, "ask for one at a time", "'%s' prints one document for each machine", c.path)
	}
	return oneByOne(ctx, a, c, a.Hosts, true)
}

// screenFunc returns the function that shows several machines, or jobs of several machines, on one
// screen. It returns nil if the command has no such function.
func (c call) screenFunc() func(ctx context.Context, a *cli.App) error {
	switch cmd := c.selected.(type) {
	case *look.StatusCmd:
		return func(ctx context.Context, a *cli.App) error { return look.StatusOfHosts(ctx, a, cmd) }
	case *look.ListCmd:
		return func(ctx context.Context, a *cli.App) error { return look.ListOfHosts(ctx, a, cmd) }
	case *look.GPUsCmd:
		return func(ctx context.Context, a *cli.App) error { return look.GPUsOfHosts(ctx, a, cmd) }
	case *site.TopCmd:
		return func(ctx context.Context, a *cli.App) error { return topOfHosts(ctx, a, cmd) }
	case *look.WhyCmd:
		return func(ctx context.Context, a *cli.App) error { return whyOfHosts(ctx, a, c) }
	case *logs.Cmd:
		return func(ctx context.Context, a *cli.App) error { return logs.OfHosts(ctx, a, cmd, c.ids.words(), a.Far) }
	}
	return nil
}

// isText reports whether a command's output is for people.
func isText(cmd any) bool {
	o, has := cmd.(interface{ IsTable() bool })
	return !has || o.IsTable()
}

// oneByOne runs a command on one machine after another.
func oneByOne(ctx context.Context, a *cli.App, c call, hosts []string, headed bool) (first error) {
	for i, host := range hosts {
		if i > 0 {
			a.Out.Printf("\n")
		}
		if headed {
			a.Out.Printf("%s\n", a.Out.Paint(term.Bold, host+":"))
		}
		code := a.Finish(onHost(ctx, a, c, host))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if code != 0 && first == nil {
			first = cli.ExitStatus(code)
		}
	}
	return first
}

// byIDs runs a command on each machine that has some of the named jobs.
func byIDs(ctx context.Context, a *cli.App, c call, words, hosts []string) error {
	for _, w := range words {
		if err := a.CheckSlurms(w); err != nil {
			return err
		}
	}
	for _, h := range hosts {
		if h == "" {
			continue
		}
		if _, err := afar.HostList(h); err != nil {
			return err
		}
		its := (&cli.FromAfar{Called: h}).OwnWords(words)
		if slices.ContainsFunc(its, func(w string) bool { return strings.Trim(w, ",") == "" }) {
			return cli.Usagef("an id is missing after %s:", h)
		}
	}
	if hosts = afar.MachinesOf(hosts); len(hosts) == 1 {
		return onHost(ctx, a, c, hosts[0])
	}
	there := *a
	there.Far = hosts
	switch c.about.Jobs {
	case cli.Together:
		return c.screenFunc()(ctx, &there)
	case cli.Divided:
		return c.run(&there)
	case cli.InTurn:
		if !isText(c.selected) {
			return cli.Usagef("'%s' prints one document for each job: ask for one at a time", c.path)
		}
		return oneByOne(ctx, a, c, hosts, false)
	}
	return cli.Refuse(api.CodeUsage, "name the jobs of one machine at a time", "'%s' takes jobs of one machine at a time, and these belong to %s",
		c.path, strings.Join(job.Each(hosts, cli.HostName), ", "))
}

// withHost puts a machine's name before a word that names no machine.
func withHost(host, word string) string {
	if parts := cli.PlacedWords(word); parts[0].Host == "" {
		return host + ":" + word
	}
	return word
}

// idWords gives access to the job ids in a command's struct.
type idWords struct{ field reflect.Value }

// idsOf returns the ids of a command. If the command takes no ids, the result is empty.
func idsOf(command *kong.Node) idWords {
	for _, arg := range command.Positional {
		if t := arg.Target.Type(); arg.Name == "id" && (t.Kind() == reflect.String || t == reflect.TypeFor[[]string]()) {
			return idWords{arg.Target}
		}
	}
	return idWords{}
}

func (w idWords) words() []string {
	switch {
	case !w.field.IsValid() || w.field.IsZero():
		return nil
	case w.field.Kind() == reflect.String:
		return []string{w.field.String()}
	}
	return w.field.Interface().([]string)
}

func (w idWords) set(words []string) {
	if w.field.Kind() == reflect.String {
		w.field.SetString(strings.Join(words, ","))
		return
	}
	w.field.Set(reflect.ValueOf(words))
}

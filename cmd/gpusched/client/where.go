package client

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
)

// call is a command line that has been read.
type call struct {
	selected any // the command's struct
	about    About
	ids      idWords
	path     string // its words: "gpusched gpu pause"
	run      func(*app) error
}

// wherever carries out a command on the machines that its options and ids name.
func (a *app) wherever(ctx context.Context, c call) error {
	words := c.ids.words()
	if a.asked != nil {
		if len(words) > 0 {
			c.ids.set(a.asked.ownWords(words))
		}
		return c.run(a)
	}
	hosts := placesOf(words)
	if len(a.hosts) == 1 && len(words) > 0 {
		hosts = placesOf(each(words, func(w string) string { return withHost(a.hosts[0], w) }))
	}
	switch {
	case len(hosts) > 1 || len(hosts) == 1 && hosts[0] != "":
		return a.byIDs(ctx, c, words, hosts)
	case len(hosts) == 1 && a.hostsGiven: // the only one is this machine, of which nothing is said
		return refuse(api.CodeUsage, fmt.Sprintf("such as %s:%s", a.hosts[0], words[0]),
			"say which machine's job %s is", words[0])
	case len(hosts) == 1 || len(a.hosts) == 0:
		return c.run(a)
	}
	if j, ok := c.selected.(newJob); ok {
		return a.newJobOn(c, j)
	}
	if len(a.hosts) == 1 {
		return a.onHost(ctx, c, a.hosts[0])
	}
	return a.onHosts(ctx, c)
}

// newJobOn is for a new job: of several machines which one is to be said, and --host wins.
func (a *app) newJobOn(c call, j newJob) error {
	if o := j.options(); o.Host == "" && len(a.hosts) == 1 {
		o.Host = a.hosts[0]
	} else if o.Host == "" {
		return refuse(api.CodeUsage, "--host best takes the one where the job starts first", "say which machine is to have the job")
	}
	return c.run(a)
}

// shownHere reports whether what another machine says is shown by this gpusched, from the document of the command: its
// jobs and GPUs are named with their machine. Any other command is carried out there as it is typed.
func (c call) shownHere() bool {
	return c.about.Host == ShownHere || c.about.Jobs == Divided && len(c.ids.words()) > 0
}

// onHost carries out a command on one machine, which has all jobs that it names.
func (a *app) onHost(ctx context.Context, c call, host string) error {
	switch {
	case c.shownHere():
		there := *a
		there.host, there.own = host, a.own && host == remote.Here
		if c.about.Jobs == Divided {
			there.far = []string{host}
		}
		return a.complainOf(host, c.run(&there))
	case host == remote.Here:
		if words := c.ids.words(); len(words) > 0 {
			c.ids.set((&fromAfar{called: host, plain: true}).ownWords(words))
		}
		return c.run(a)
	case c.about.Host == OnlyHere:
		return refuse(api.CodeUsage, fmt.Sprintf("log in there: ssh %s", host), "'%s' is about the machine on which it is typed", c.path)
	}
	return a.overSSH(ctx, host, a.words, c.about.OwnInput)
}

// onHosts carries out a command that names no job on several machines.
func (a *app) onHosts(ctx context.Context, c call) error {
	switch {
	case c.about.Hosts == Together:
		return c.together()(ctx, a)
	case c.about.Hosts != InTurn:
		return refuse(api.CodeUsage, fmt.Sprintf("such as: gpusched %s %s %s", hostsFlag, a.hosts[0], strings.TrimPrefix(c.path, "gpusched ")),
			"'%s' is for one machine at a time", c.path)
	case !isText(c.selected):
		return refuse(api.CodeUsage, "ask for one at a time", "'%s' has one document for each machine", c.path)
	}
	return a.oneByOne(ctx, c, a.hosts, true)
}

// together shows several machines, or jobs of several, in one picture; nil: nobody has drawn one.
func (c call) together() func(ctx context.Context, a *app) error {
	switch cmd := c.selected.(type) {
	case *statusCmd:
		return func(ctx context.Context, a *app) error { return a.statusOfHosts(ctx, cmd) }
	case *listCmd:
		return func(ctx context.Context, a *app) error { return a.listOfHosts(ctx, cmd) }
	case *gpusCmd:
		return func(ctx context.Context, a *app) error { return a.gpusOfHosts(ctx, cmd) }
	case *topCmd:
		return func(ctx context.Context, a *app) error { return a.topOfHosts(ctx, cmd) }
	case *whyCmd:
		return func(ctx context.Context, a *app) error { return a.whyOfHosts(ctx, c) }
	case *logsCmd:
		return func(ctx context.Context, a *app) error { return a.logsOf(ctx, cmd, c.ids.words(), a.far) }
	}
	return nil
}

// isText reports whether a command prints for people.
func isText(cmd any) bool {
	o, has := cmd.(interface{ isTable() bool })
	return !has || o.isTable()
}

// oneByOne carries out a command on one machine after the other, or for the job of each, where each answer has it.
func (a *app) oneByOne(ctx context.Context, c call, hosts []string, headed bool) (first error) {
	for i, host := range hosts {
		if i > 0 {
			a.out.Printf("\n")
		}
		if headed {
			a.out.Printf("%s\n", a.out.Paint(term.Bold, host+":"))
		}
		code := a.finish(a.onHost(ctx, c, host))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if code != 0 && first == nil {
			first = exitStatus(code)
		}
	}
	return first
}

// byIDs carries out a command on the machines whose jobs it names.
func (a *app) byIDs(ctx context.Context, c call, words, hosts []string) error {
	for _, w := range words {
		if err := a.checkSlurms(w); err != nil {
			return err
		}
	}
	for _, h := range hosts {
		if h == "" {
			continue
		}
		if _, err := hostList(h); err != nil {
			return err
		}
		its := (&fromAfar{called: h}).ownWords(words)
		if slices.ContainsFunc(its, func(w string) bool { return strings.Trim(w, ",") == "" }) {
			return usagef("an id is missing behind %s:", h)
		}
	}
	if hosts = machinesOf(hosts); len(hosts) == 1 {
		return a.onHost(ctx, c, hosts[0])
	}
	there := *a
	there.far = hosts
	switch c.about.Jobs {
	case Together:
		return c.together()(ctx, &there)
	case Divided:
		return c.run(&there)
	case InTurn:
		if !isText(c.selected) {
			return usagef("'%s' has one document for each job: ask for one at a time", c.path)
		}
		return a.oneByOne(ctx, c, hosts, false)
	}
	return refuse(api.CodeUsage, "ask for one after the other", "'%s' is about jobs of one machine at a time, and these are of %s",
		c.path, strings.Join(each(hosts, hostName), ", "))
}

// hostName is a machine in a sentence.
func hostName(host string) string {
	if host == "" || host == "." {
		return "this one"
	}
	return host
}

// withHost puts a machine before a word that names none.
func withHost(host, word string) string {
	if parts := placedWords(word); parts[0].host == "" {
		return host + ":" + word
	}
	return word
}

// idWords are the words for jobs of a command, in its struct.
type idWords struct{ field reflect.Value }

// idsOf finds them; a command that takes none has none.
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

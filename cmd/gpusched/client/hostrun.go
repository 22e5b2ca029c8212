package client

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
)

// call is a command line that has been read.
type call struct {
	selected any // the command's struct
	ids      idWords
	path     string // its words: "gpusched gpu pause"
	run      func(*app) error
}

// wherever carries out a command on the machines that its options and ids name.
func (a *app) wherever(ctx context.Context, c call) error {
	words := c.ids.words()
	if len(a.hosts) == 1 && len(words) > 0 {
		words = each(words, func(w string) string { return withHost(a.hosts[0], w) })
	}
	switch hosts := placesOf(words); {
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

// local are commands that read or change what is on the machine itself, besides its scheduler: they are run
// there. The other ones of this kind are for somebody who has logged in.
var (
	runThere = strings.Fields("logs attach exec screens top doctor config migrate")
	notThere = strings.Fields("import watch add aliases mcp export estimate help")
)

func (c call) word() string {
	words := strings.Fields(c.path)
	return words[min(1, len(words)-1)]
}

// onHost carries out a command that names no job on one machine.
func (a *app) onHost(ctx context.Context, c call, host string) error {
	switch {
	case host == "." && (slices.Contains(runThere, c.word()) || slices.Contains(notThere, c.word())):
		return c.run(a)
	case slices.Contains(runThere, c.word()):
		return a.overSSH(ctx, host, a.words)
	case slices.Contains(notThere, c.word()):
		return refuse(api.CodeUsage, fmt.Sprintf("log in there: ssh %s", host), "'%s' is about the machine on which it is typed", c.path)
	}
	f := a.fleet()
	p, err := f.at(ctx, host)
	if err != nil {
		return f.of(host, err)
	}
	return exitHere(p.app, c.run(p.app))
}

// exitHere says what is wrong in the words of an app, whose machine they name.
func exitHere(a *app, err error) error {
	if code := a.finish(err); code != 0 {
		return exitStatus(code)
	}
	return nil
}

// inTurn are commands that, asked of several machines, answer for one after the other.
var inTurn = strings.Fields("health usage version history report")

// onHosts carries out a command that names no job on several machines.
func (a *app) onHosts(ctx context.Context, c call) error {
	f := a.fleet()
	switch cmd := c.selected.(type) {
	case *statusCmd:
		return f.status(ctx, cmd)
	case *listCmd:
		return f.list(ctx, cmd)
	case *gpusCmd:
		return f.gpus(ctx, cmd)
	case *topCmd:
		return f.top(ctx, cmd)
	case *whyCmd:
		if !cmd.Plan {
			return f.why(ctx, c, cmd)
		}
	default:
		if !slices.Contains(inTurn, c.word()) {
			return refuse(api.CodeUsage, fmt.Sprintf("such as: gpusched %s %s %s", hostsFlag, a.hosts[0], strings.TrimPrefix(c.path, "gpusched ")),
				"'%s' is for one machine at a time", c.path)
		}
	}
	if !isText(c.selected) {
		return refuse(api.CodeUsage, "ask for one at a time", "'%s' has one document for each machine", c.path)
	}
	return f.inTurn(ctx, c)
}

// isText reports whether a command prints for people.
func isText(cmd any) bool {
	v := reflect.ValueOf(cmd).Elem().FieldByName("outputFlags")
	o, ok := v, v.IsValid()
	if !ok {
		return true
	}
	return !o.FieldByName("JSON").Bool() && slices.Contains([]string{"table", "wide", ""}, o.FieldByName("Output").String())
}

// inTurn carries out a command on one machine after the other, under their names.
func (f *fleet) inTurn(ctx context.Context, c call) (first error) {
	hosts := f.a.hosts
	errs := f.each(ctx, hosts, func(context.Context, int, *peer) error { return nil })
	for i, host := range hosts {
		if errs[i] != nil {
			continue
		}
		p := f.open[host]
		f.a.out.Printf("%s\n", f.a.out.Paint(term.Bold, host+":"))
		if err := exitHere(p.app, c.run(p.app)); err != nil && first == nil {
			first = err
		}
		f.a.out.Printf("\n")
	}
	f.a.out.W.Flush()
	if missing := f.complainOf(hosts, errs); missing != nil {
		return missing
	}
	return first
}

// together are commands that take jobs of several machines at once, and apart those that show one job.
var (
	together = strings.Fields("wait cancel hold release suspend resume requeue update")
	apart    = strings.Fields("show why")
)

// byIDs carries out a command on the machines whose jobs it names.
func (a *app) byIDs(ctx context.Context, c call, words, hosts []string) error {
	for _, h := range hosts {
		if h != "" {
			if _, err := hostList(h); err != nil {
				return err
			}
		}
	}
	hosts = machinesOf(hosts)
	if len(hosts) == 1 {
		return a.byIDsOf(ctx, c, words, hosts[0])
	}
	if l, ok := c.selected.(*listCmd); ok {
		return a.listOf(ctx, l, words, hosts)
	}
	if l, ok := c.selected.(*logsCmd); ok {
		return a.logsOf(ctx, l, words, hosts)
	}
	if slices.Contains(apart, c.word()) {
		return a.oneByOne(ctx, c, words, hosts)
	}
	if u, ok := c.selected.(*updateCmd); ok && u.waits() {
		return refuse(api.CodeUsage, "change what they wait for machine by machine", "a job can wait for jobs of its own machine only, and these are of %s",
			strings.Join(each(hosts, hostName), ", "))
	}
	if !slices.Contains(together, c.word()) {
		return refuse(api.CodeUsage, "ask for one after the other", "'%s' is about jobs of one machine at a time, and these are of %s",
			c.path, strings.Join(each(hosts, hostName), ", "))
	}
	c.ids.set(words)
	f := a.fleet()
	here := *a
	here.client, here.away = f, f.resolve
	return c.run(&here)
}

// hostName is a machine in a sentence.
func hostName(host string) string {
	if host == "" || host == "." {
		return "this one"
	}
	return host
}

// byIDsOf is byIDs where all are of one machine.
func (a *app) byIDsOf(ctx context.Context, c call, words []string, host string) error {
	bare := each(words, func(w string) string {
		return joined(placedWords(w), ",", func(p placed) string { return p.word })
	})
	if slices.Contains(bare, "") {
		return usagef("an id is missing behind %s:", host)
	}
	typed := c.ids.words()
	c.ids.set(bare)
	if slices.Contains(runThere, c.word()) && host != "." {
		there := slices.Clone(a.words)
		for i, w := range there {
			if n := slices.Index(typed, w); n >= 0 {
				there[i] = bare[n]
				typed = slices.Delete(slices.Clone(typed), n, n+1)
				bare = slices.Delete(slices.Clone(bare), n, n+1)
			}
		}
		return a.overSSH(ctx, host, there)
	}
	return a.onHost(ctx, c, host)
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
		w.field.SetString(words[0])
		return
	}
	w.field.Set(reflect.ValueOf(words))
}

package client

import (
	"testing"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/parse"
	"github.com/gpusched/gpusched/cmd/gpusched/submit"
)

// lacks returns what a command's About should declare but does not, or "".
func lacks(n *kong.Node) string {
	about, takesJobs := parse.AboutNode(n), idsOf(n).field.IsValid()
	c := call{selected: n.Target.Addr().Interface(), about: about}
	_, isNewJob := c.selected.(submit.NewJob)
	switch together := about.Hosts == cli.Together || about.Jobs == cli.Together; {
	case about.Host == 0:
		return "Host, how it is carried out on another machine"
	case about.Hosts == 0:
		return "Hosts, how it is carried out on several machines"
	case about.Hosts == cli.Divided:
		return "another Hosts: without the ids of jobs there is nothing to divide"
	case takesJobs && about.Jobs == 0:
		return "Jobs, how it is carried out where its ids are of several machines"
	case !takesJobs && about.Jobs != 0:
		return "nothing of Jobs, as it takes no ids"
	case about.Slurm == nil:
		return "Slurm: ForSlurm, or NotForSlurm and what to do instead"
	case (isNewJob && about.Host != cli.OnlyHere) != (about.Hosts == cli.OnOne):
		return "Hosts: OnOne if it is a new job, which embeds jobOptions and may be on another machine, and only then"
	case together && c.screenFunc() == nil:
		return "what Together is: a case in screenFunc, where.go"
	case !together && c.screenFunc() != nil:
		return "Together, as screenFunc in where.go has a case for it"
	}
	return ""
}

// Every command declares how it works on other machines and on Slurm.
func TestEveryCommandDeclaresItself(t *testing.T) {
	for _, n := range model(t).Leaves(true) {
		if what := lacks(n); what != "" {
			t.Errorf("'%s' must declare %s in the method About of %v, see cli/about.go and \"A command\" in contrib/CONTRIBUTING.md",
				manual.CommandPath(n), what, n.Target.Type())
		}
	}
	var new struct {
		Hello struct{} `cmd:""`
	}
	k, err := kong.New(&new)
	if err != nil {
		t.Fatal(err)
	}
	if lacks(k.Model.Children[0]) == "" {
		t.Error("a command without a declaration passes")
	}
}

// A command has a JSON document if its answer from another machine is printed here.
func TestCommandsShownHereHaveADocument(t *testing.T) {
	for _, n := range model(t).Leaves(true) {
		about := parse.AboutNode(n)
		if about.Host == cli.ShownHere && about.Hosts != cli.OnOne && parse.FlagNamed(n, "--json") == nil {
			t.Errorf("'%s' has no document to be shown here", manual.CommandPath(n))
		}
		_, told := n.Target.Addr().Interface().(interface{ IsTable() bool })
		if inTurn := about.Hosts == cli.InTurn || about.Jobs == cli.InTurn; inTurn && !told && parse.FlagNamed(n, "--json") != nil {
			t.Errorf("'%s' has --json without cli.OutputFlags, which say whether its output is for people", manual.CommandPath(n))
		}
	}
}

// A command's name is recognized only at the start of a command line.
func TestAboutWord(t *testing.T) {
	for word, want := range map[string]cli.Hosts{"list": cli.Together, "queue": cli.Together, "top": cli.Together, "logs": cli.OneAtATime, "report": cli.InTurn, "nosuch": 0, "": cli.OnOne} {
		if got := aboutWord(word).Hosts; got != want {
			t.Errorf("%q: %v, want %v", word, got, want)
		}
	}
}

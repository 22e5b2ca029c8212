package client

import (
	"testing"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
)

// lacks is what a command should say about itself and does not; "": nothing.
func lacks(n *kong.Node) string {
	about, takesJobs := aboutNode(n), idsOf(n).field.IsValid()
	c := call{selected: n.Target.Addr().Interface(), about: about}
	_, isNewJob := c.selected.(newJob)
	switch together := about.Hosts == Together || about.Jobs == Together; {
	case about.Host == 0:
		return "Host, how it is carried out on another machine"
	case about.Hosts == 0:
		return "Hosts, how it is carried out on several machines"
	case about.Hosts == Divided:
		return "another Hosts: without the ids of jobs there is nothing to divide"
	case takesJobs && about.Jobs == 0:
		return "Jobs, how it is carried out where its ids are of several machines"
	case !takesJobs && about.Jobs != 0:
		return "nothing of Jobs, as it takes no ids"
	case about.Slurm == nil:
		return "Slurm: ForSlurm, or NotForSlurm and what to do instead"
	case isNewJob != (about.Hosts == OnOne):
		return "Hosts: OnOne if it is a new job, which embeds jobOptions, and only then"
	case together && c.together() == nil:
		return "what Together is: a case in together, hostrun.go"
	case !together && c.together() != nil:
		return "Together, as together in hostrun.go has a case for it"
	}
	return ""
}

// Nothing else knows what a command is on other machines or on Slurm.
func TestEveryCommandSaysWhatItIs(t *testing.T) {
	for _, n := range model(t).Leaves(true) {
		if what := lacks(n); what != "" {
			t.Errorf("'%s' is to say %s: in the method About beside its struct %v, see about.go and \"A command\" in contrib/CONTRIBUTING.md",
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
		t.Error("a command passes that says nothing")
	}
}

// What another machine answers can be read by this one.
func TestCommandsShownHereHaveADocument(t *testing.T) {
	for _, n := range model(t).Leaves(true) {
		about := aboutNode(n)
		if about.Host == ShownHere && about.Hosts != OnOne && flagNamed(n, "--json") == nil {
			t.Errorf("'%s' has no document to be shown here", manual.CommandPath(n))
		}
		_, told := n.Target.Addr().Interface().(interface{ isTable() bool })
		if inTurn := about.Hosts == InTurn || about.Jobs == InTurn; inTurn && !told && flagNamed(n, "--json") != nil {
			t.Errorf("'%s' has --json, and nothing tells whether its output is for people: embed outputFlags", manual.CommandPath(n))
		}
	}
}

// A word by which a command is known stands in front of a command line only.
func TestAboutWord(t *testing.T) {
	for word, want := range map[string]Hosts{"list": Together, "queue": Together, "top": Together, "logs": OneAtATime, "report": InTurn, "hello": 0, "": OnOne} {
		if got := aboutWord(word).Hosts; got != want {
			t.Errorf("%q: %v, want %v", word, got, want)
		}
	}
}

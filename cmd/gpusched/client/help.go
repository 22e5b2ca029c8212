package client

import (
	"cmp"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/site"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
)

// helpTopic implements 'gpusched help WORD...' for words that are not a command. It shows the
// sections of the manual whose titles contain the words. The result is false if the command line is
// not such a request.
func helpTopic(a *cli.App, args []string) (bool, error) {
	if len(args) < 2 || args[0] != "help" || strings.HasPrefix(args[1], "-") {
		return false, nil
	}
	words := args[1:]
	if _, unknown := grammarFor(words).(*grammar); !unknown {
		return false, nil
	}
	if _, other := manual.OtherCommands.Find(words[0]); other {
		return false, nil
	}
	if a.Slurm == nil && site.ProgramPath(a, engines.SlurmProgram) != "" { // gpusched-slurm has more sections
		return true, site.BecomeSlurm(a)
	}
	found := manual.About(words, onSlurm(a)...)
	page, _, _ := strings.Cut(strings.TrimPrefix(words[0], "gpusched-"), "(")
	_, noCommand := grammarFor([]string{page}).(*grammar)
	switch {
	case page == "policy":
		for _, t := range manual.Policy() {
			writeTopic(a, t)
		}
	case otherPages[page] != "":
		a.Out.Printf("This page of the manual: %s\n", otherPages[page])
	case !noCommand: // such as gpusched-submit(1)
		a.Out.Printf("This page of the manual: man gpusched-%[1]s, or gpusched %[1]s --help-all\n", page)
	case words[0] == "topics":
		writeTitles(a, manual.Topics(onSlurm(a)...))
	case words[0] == "tour":
		for _, t := range manual.Tour() {
			writeTopic(a, t)
		}
	case len(found) == 0:
		return true, cli.Refuse(api.CodeUsage, "see 'gpusched help topics' and 'gpusched --help-all'",
			"there is neither a command nor a section of the manual about %q", strings.Join(words, " "))
	case len(found) > 1:
		a.Out.Printf("Several sections have these words in their titles. Add more words to choose one:\n\n")
		writeTitles(a, found)
	default:
		writeTopic(a, found[0])
		a.Out.Printf("%s\n", a.Out.Paint(term.Dim, "From "+found[0].Page+". Other sections: gpusched help topics"))
	}
	return true, nil
}

// otherPages says how to read the pages of the manual that are not divided into topics.
var otherPages = map[string]string{
	"admin": "man gpusched-admin", "gpuschedd": "man gpuschedd", "gpusched.toml": "man gpusched.toml, or gpusched config sample",
}

func writeTitles(a *cli.App, list []manual.Topic) {
	wide := 0
	for _, t := range list {
		wide = max(wide, term.Columns(t.Title))
	}
	for _, t := range list {
		a.Out.Printf("  %s  %s\n", term.Pad(t.Title, wide, false), t.Page)
	}
}

// proseColumns is the largest width of a paragraph.
const proseColumns = 100

func writeTopic(a *cli.App, t manual.Topic) {
	a.Out.Printf("%s\n", a.Out.Paint(term.Bold, t.Title))
	folded := *a.Out
	folded.Width = min(cmp.Or(a.Out.Width, 80), proseColumns)
	for block := range strings.SplitSeq(t.Text, "\n\n") {
		if !strings.HasPrefix(block, "    ") {
			block = folded.Wrap(block, "")
		}
		a.Out.Printf("\n%s\n", block)
	}
	a.Out.Printf("\n")
}

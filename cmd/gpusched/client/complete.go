package client

import (
	"cmp"
	"context"
	"io"
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/parse"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// completeTime is the time limit for the daemon's answer after the user has pressed Tab.
const completeTime = 500 * time.Millisecond

// A candidate is a word that may come next, with its description.
type candidate struct{ word, about string }

// complete implements "gpusched __complete WORD... CURRENT". It prints the candidates for the word
// CURRENT, one on each line, followed by a tab and a description. For file names and the like it
// prints nothing, since the shell completes these better. If CURRENT belongs to a job's command, it
// prints a tab and "command N", where N is the index of the command's first word. It never fails.
func complete(ctx context.Context, a *cli.App, args []string) error {
	if len(args) == 0 {
		return nil
	}
	typed := len(args)
	if typed > 1 {
		var err error
		if args, err = a.CutOwn(args); err != nil {
			return nil
		}
	}
	if strings.HasPrefix(args[0], cli.HostsFlag) {
		completeHosts(a, args)
		if args = withoutHosts(args); len(args) == 0 {
			return nil
		}
		a.Client = &api.Client{Socket: os.DevNull} // completion must not start ssh
	}
	words, current := args[:len(args)-1], args[len(args)-1]
	var g any = &grammar{}
	if len(words) > 0 {
		g = grammarFor(words)
	}
	parser, err := parse.New(g, io.Discard, func(int) {})
	if err != nil {
		return nil
	}
	at := walk(parser.Model.Node, words)
	if at.command > 0 || at.beginsCommand(current) {
		a.Out.Printf("\tcommand %d\n", cmp.Or(at.command, len(words))+typed-len(args))
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completeTime)
	defer cancel()
	list := candidates(ctx, a, at, current)
	if len(words) == 1 && words[0] == "help" {
		list = append(list, topicWords()...)
	}
	said := map[string]bool{}
	for _, c := range list {
		if strings.HasPrefix(c.word, current) && !said[c.word] {
			said[c.word] = true
			a.Out.Printf("%s\t%s\n", term.Clean(c.word), term.Clean(c.about))
		}
	}
	return nil
}

// A spot is the place of the next word in a command line.
type spot struct {
	node     *kong.Node
	flag     *kong.Flag // the option that needs the word as its value
	onlyArgs bool       // the word follows --, so it is no option
	args     int        // number of arguments before the word
	command  int        // index of the first word of the job's command; 0: the word is not in it
}

// walk returns the spot that follows the arguments typed so far.
func walk(node *kong.Node, words []string) spot {
	p := spot{node: node}
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch child := parse.ChildNamed(p.node, word); {
		case p.onlyArgs:
			p.args++
		case word == "--":
			p.onlyArgs = true
		case strings.HasPrefix(word, "-"):
			flag := parse.FlagNamed(p.node, word)
			if flag == nil || flag.IsBool() || word != "--"+flag.Name && word != "-"+string(flag.Short) {
				continue
			}
			if i++; i == len(words) {
				p.flag = flag
				return p
			}
		case child != nil:
			p.node = child
		default:
			p.args++
		}
		if before, takes := argsBeforeCommand(p.node); takes && p.args > before {
			p.command = i
			return p
		}
	}
	return p
}

// beginsCommand reports whether a word here would begin a job's command.
func (p spot) beginsCommand(current string) bool {
	before, takes := argsBeforeCommand(p.node)
	return takes && p.flag == nil && p.args == before && (p.onlyArgs || !strings.HasPrefix(current, "-"))
}

// argsBeforeCommand returns how many arguments come before a job's command. The result is false if
// the gpusched command takes no job's command.
func argsBeforeCommand(n *kong.Node) (int, bool) {
	for i, arg := range n.Positional {
		if arg.PassthroughMode != kong.PassThroughModeNone {
			return i, true
		}
	}
	return 0, false
}

// candidates returns the candidates at a spot.
func candidates(ctx context.Context, a *cli.App, at spot, current string) []candidate {
	if at.flag != nil {
		return values(ctx, a, at.node, at.flag, current)
	}
	if name, value, ok := strings.Cut(current, "="); ok && !at.onlyArgs && strings.HasPrefix(current, "--") {
		return withPrefix(name+"=", values(ctx, a, at.node, parse.FlagNamed(at.node, name), value))
	}
	if strings.HasPrefix(current, "-") && !at.onlyArgs {
		return flagWords(at.node)
	}
	if len(at.node.Children) > 0 {
		return commandWords(at.node)
	}
	return arguments(ctx, a, at.node, current)
}

func commandWords(n *kong.Node) []candidate {
	list := job.Each(n.Children, func(c *kong.Node) candidate { return candidate{c.Name, c.Help} })
	if n.Parent == nil {
		list = append(list, candidate{"help", "Explain a command, or a subject of the manual."})
	}
	return list
}

// topicWords returns the candidates for 'gpusched help'.
func topicWords() []candidate {
	list := []candidate{{"topics", "the sections of the manual"}, {"tour", "gpusched(7)"}}
	for _, t := range manual.Topics() {
		if word := t.Word(); word != "" {
			list = append(list, candidate{word, t.Title})
		}
	}
	return list
}

func flagWords(n *kong.Node) (list []candidate) {
	for _, f := range n.Flags {
		about := manual.OfOption(n, f).Brief
		list = append(list, candidate{"--" + f.Name, about})
		if f.Tag.Negatable != "" {
			list = append(list, candidate{"--no-" + f.Name, about})
		}
	}
	list = append(list, candidate{cli.OnFlag, "What runs the jobs: local or slurm."})
	return append(list, candidate{"--help", "Show the options people use."}, candidate{"--help-all", "Show all options, explained."})
}

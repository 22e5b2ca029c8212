package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// completeTime bounds how long the daemon may take after a press of Tab.
const completeTime = 500 * time.Millisecond

// candidate is one way to go on.
type candidate struct{ word, about string }

// complete is "gpusched __complete WORD... CURRENT": it prints how the last
// word could go on, a line each, after a tab what it is. It prints nothing
// where the shell knows better: names of files and programs. It never fails.
func complete(ctx context.Context, a *app, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if len(args) > 1 {
		var err error
		if args, err = a.cutOwn(args); err != nil {
			return nil
		}
	}
	words, current := args[:len(args)-1], args[len(args)-1]
	var g any = &grammar{}
	if len(words) > 0 {
		g = grammarFor(words)
	}
	parser, err := newParser(g, io.Discard, func(int) {})
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completeTime)
	defer cancel()
	for _, c := range a.candidates(ctx, parser.Model.Node, words, current) {
		if strings.HasPrefix(c.word, current) {
			a.out.Printf("%s\t%s\n", term.Clean(c.word), term.Clean(c.about))
		}
	}
	return nil
}

// candidates walks down the words typed so far.
func (a *app) candidates(ctx context.Context, node *kong.Node, words []string, current string) []candidate {
	onlyArgs, args := false, 0
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch child := childNamed(node, word); {
		case onlyArgs:
			args++
		case word == "--":
			onlyArgs = true
		case strings.HasPrefix(word, "-"):
			flag := flagNamed(node, word)
			if flag == nil || flag.IsBool() || word != "--"+flag.Name && word != "-"+string(flag.Short) {
				continue
			}
			if i++; i == len(words) {
				return a.values(ctx, node, flag, current)
			}
		case child != nil:
			node = child
		default:
			args++
		}
		if args > 0 && takesCommand(node) {
			return nil
		}
	}
	if name, value, ok := strings.Cut(current, "="); ok && !onlyArgs && strings.HasPrefix(current, "--") {
		return withPrefix(name+"=", a.values(ctx, node, flagNamed(node, name), value))
	}
	if strings.HasPrefix(current, "-") && !onlyArgs {
		return flagWords(node)
	}
	if len(node.Children) > 0 {
		return commandWords(node)
	}
	return a.arguments(ctx, node, current)
}

func childNamed(n *kong.Node, word string) *kong.Node {
	for _, c := range n.Children {
		if c.Name == word || slices.Contains(c.Aliases, word) {
			return c
		}
	}
	return nil
}

func flagNamed(n *kong.Node, word string) *kong.Flag {
	name, _, _ := strings.Cut(word, "=")
	for _, f := range n.Flags {
		if name == "--"+f.Name || f.Short != 0 && strings.HasPrefix(name, "-"+string(f.Short)) {
			return f
		}
	}
	return nil
}

// takesCommand reports whether what follows is another program's command line.
func takesCommand(n *kong.Node) bool {
	return len(n.Positional) > 0 && n.Positional[0].PassthroughMode != kong.PassThroughModeNone
}

func commandWords(n *kong.Node) []candidate {
	return each(n.Children, func(c *kong.Node) candidate { return candidate{c.Name, c.Help} })
}

func flagWords(n *kong.Node) (list []candidate) {
	for _, f := range n.Flags {
		about, _, _ := strings.Cut(f.Help, ". ")
		list = append(list, candidate{"--" + f.Name, about})
		if f.Tag.Negatable != "" {
			list = append(list, candidate{"--no-" + f.Name, about})
		}
	}
	return append(list, candidate{"--help", "Show the options people use."}, candidate{"--help-all", "Show all options, explained."})
}

// values are the candidates for the value of a flag.
func (a *app) values(ctx context.Context, n *kong.Node, f *kong.Flag, current string) (list []candidate) {
	if f == nil {
		return nil
	}
	if f.Enum != "" {
		return each(f.EnumSlice(), func(v string) candidate { return candidate{v, ""} })
	}
	recent := api.ListQuery{Ended: 100}
	switch f.Name {
	case "gpu-ids", "gpus-from", "exclude-gpus":
		return a.gpuWords(ctx, current)
	case "gpus":
		if n.Name == "make" {
			return a.gpuWords(ctx, current)
		}
	case "after", "after-ok", "after-fail", "after-any":
		return a.idWords(ctx, n, current)
	case "on-timeout":
		return []candidate{{string(job.TimeoutKill), ""}, {string(job.TimeoutRequeue), "back to the end of the queue"}}
	case "objective":
		return []candidate{{string(job.Makespan), "all done soonest"}}
	case "output":
		return each(append(slices.Clone(forms), formColumns+"="), func(f string) candidate { return candidate{f, ""} })
	case "sort":
		return each(term.Names(a.jobColumns()), func(name string) candidate { return candidate{name, ""} })
	case "state":
		return each(manual.States(), func(s manual.Entry) candidate { return candidate{s.Word, s.Text} })
	case "priority":
		for c := job.Scavenger; c <= job.Interactive; c++ {
			list = append(list, candidate{c.String(), ""})
		}
	case "signal":
		end := ""
		if n.Name == "submit" {
			end = "@60s"
		}
		for sig := 1; job.SignalName(sig)[0] != 'R'; sig++ {
			list = append(list, candidate{job.SignalName(sig) + end, ""})
		}
	case "user":
		return a.jobWords(ctx, recent, func(j api.Job) candidate { return candidate{j.User, ""} })
	case "name":
		if n.Name != "submit" {
			return a.jobWords(ctx, recent, func(j api.Job) candidate { return candidate{j.Name, ""} })
		}
	}
	return list
}

// arguments are the candidates for what is not an option.
func (a *app) arguments(ctx context.Context, n *kong.Node, current string) []candidate {
	if len(n.Positional) == 0 {
		return nil
	}
	switch n.Positional[0].Name {
	case "index":
		return a.gpuWords(ctx, current)
	case "id":
		return a.idWords(ctx, n, current)
	case "reservation":
		reply, _ := a.client.Reservations(ctx)
		return each(reply.Reservations, reservationWord)
	}
	return nil
}

// idWords are the jobs that a command can be about.
func (a *app) idWords(ctx context.Context, n *kong.Node, current string) []candidate {
	if strings.HasPrefix(current, "name:") {
		q := api.ListQuery{Ended: 100, UID: &a.uid}
		return a.jobWords(ctx, q, func(j api.Job) candidate { return candidate{"name:" + j.Name, ""} })
	}
	q := api.ListQuery{Ended: 50}
	switch n.Name {
	case "wait":
		q.Ended = 0
	case "cancel", "requeue":
		q.Ended, q.UID = 0, &a.uid
	case "hold", "release", "update":
		q.Ended, q.UID, q.States = 0, &a.uid, []job.State{job.Queued}
	case "logs":
		q.UID = &a.uid
	}
	if a.uid == 0 {
		q.UID = nil
	}
	return withPrefix(listPrefix(current), a.jobWords(ctx, q, func(j api.Job) candidate {
		return candidate{nameOfJob(j), fmt.Sprintf("%s, %s, %s", j.Name, j.User, j.State)}
	}))
}

func (a *app) jobWords(ctx context.Context, q api.ListQuery, word func(api.Job) candidate) (list []candidate) {
	reply, _ := a.client.List(ctx, q)
	for _, j := range reply.Jobs {
		if c := word(j); !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	return list
}

func (a *app) gpuWords(ctx context.Context, current string) []candidate {
	reply, _ := a.client.GPUs(ctx)
	return withPrefix(listPrefix(current), each(reply.GPUs, func(g api.GPU) candidate {
		return candidate{strconv.Itoa(g.Index), g.Name + ", " + string(g.State)}
	}))
}

// listPrefix is the part of a list that is complete: "0," of "0,2".
func listPrefix(current string) string { return current[:strings.LastIndex(current, ",")+1] }

func withPrefix(prefix string, list []candidate) []candidate {
	for i := range list {
		list[i].word = prefix + list[i].word
	}
	return list
}

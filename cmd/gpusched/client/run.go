package client

import (
	"context"
	"fmt"

	"github.com/gpusched/gpusched/cmd/gpusched/afar"
	"github.com/gpusched/gpusched/cmd/gpusched/attach"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/editor"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/parse"
	"github.com/gpusched/gpusched/cmd/gpusched/remote"
)

// run runs one command line and returns the exit status.
func run(ctx context.Context, a *cli.App, args []string) (code int) {
	defer func() { code = flush(a, code) }()
	args, err := a.CutOwn(args)
	if err != nil {
		return a.Finish(err)
	}
	if len(args) > 0 {
		if command := hiddenCommand(args[0]); command != nil {
			return a.Finish(command(ctx, a, args[1:]))
		}
	}
	if done, err := helpTopic(a, args); done {
		return a.Finish(err)
	}
	if args, err = cutHosts(a, args); err != nil {
		return a.Finish(err)
	}
	args, err = parse.Habitual(args)
	if err != nil {
		return a.Finish(err)
	}
	args = cli.WithCommand(args)
	a.Words, a.Noted = args, map[string]bool{}
	helped := false // help was printed
	parser, err := parse.New(grammarFor(args), a.Out.W, func(int) { helped = true })
	if err != nil {
		return a.Finish(err)
	}
	kctx, err := parser.Parse(args)
	if helped {
		return 0
	}
	if err != nil {
		return a.Finish(parse.Misused(err))
	}
	if err := parse.CheckWords(kctx, args); err != nil {
		return a.Finish(err)
	}
	if err := chooseEngine(a, kctx); err != nil {
		return a.Finish(err)
	}
	selected := kctx.Selected()
	command := selected.Target.Addr().Interface()
	return a.Finish(runEverywhere(ctx, a, call{
		selected: command, about: parse.AboutNode(selected), ids: idsOf(selected),
		path: manual.CommandPath(selected), run: func(a *cli.App) error { return command.(runner).Run(ctx, a) },
	}))
}

// A runner is a command. The parser could call Run, but it would look at each method of the command
// first.
type runner interface {
	Run(ctx context.Context, a *cli.App) error
}

// flush writes out buffered output. It returns the given status, or another status if the write
// fails.
func flush(a *cli.App, code int) int {
	if err := a.Out.W.Flush(); err != nil && code == 0 {
		code = a.Finish(fmt.Errorf("the output could not be written: %w", err))
	}
	a.Err.W.Flush()
	return code
}

// hiddenCommand returns the hidden command of this name, or nil. Only the scripts of the installed
// package and other runs of gpusched use hidden commands. The parser does not get the words of such
// a command.
func hiddenCommand(word string) func(context.Context, *cli.App, []string) error {
	switch word {
	case "__complete":
		return complete
	case "__man":
		return writeManual
	case remote.DocCommand:
		return answerDocument
	case remote.HereCommand:
		return answerFor(false)
	case remote.LabelledCommand:
		return answerFor(true)
	case afar.AttendCommand:
		return attach.AttendAgain
	case editor.NotebookCommand:
		return editor.Notebook
	case editor.HoldCommand:
		return editor.Hold
	case editor.ServeCommand:
		return editor.Serve
	}
	return nil
}

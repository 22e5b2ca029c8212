package client

import (
	"context"
	"io"
	"os"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/cmd/gpusched/submit"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
)

// answerDocument implements a hidden command. A gpusched on another machine calls it to get the
// JSON document of a command.
func answerDocument(ctx context.Context, a *cli.App, args []string) error {
	if len(args) > 0 {
		return cli.Usagef("%s takes no words", remote.DocCommand)
	}
	t, err := remote.Begin(os.Stdin, os.Stdout, endWithCaller)
	if err != nil {
		return cli.Usagef("%v", err)
	}
	here := *a
	here.Asked = &cli.FromAfar{Called: t.Called, Plain: t.Plain, Document: true, Job: t.Job}
	here.Interactive = false
	if t.Job != nil {
		submit.Surround(&here, t.Job)
	}
	return runWords(ctx, &here, t.Words)
}

// endWithCaller ends this process when the gpusched that sent the command has ended. Jobs continue.
func endWithCaller() { os.Exit(cli.StatusInterrupted) }

// answerFor returns a hidden command that runs another machine's command line here. The hidden
// command uses that machine's terminal or input. The argument says whether each output line begins
// with the job's name.
func answerFor(labelled bool) func(ctx context.Context, a *cli.App, args []string) error {
	return func(ctx context.Context, a *cli.App, args []string) error { return answer(ctx, a, args, labelled) }
}

func answer(ctx context.Context, a *cli.App, args []string, labelled bool) error {
	if len(args) < 2 {
		return cli.Usagef("%s takes the name of this machine and a command line", remote.HereCommand)
	}
	if err := remote.Check(args[0]); err != nil {
		return cli.Usagef("%v", err)
	}
	if endsWithInput(args[1], term.IsTerminal(os.Stdin)) {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			endWithCaller()
		}()
	}
	here := *a
	here.Asked = &cli.FromAfar{Called: args[0], Plain: true, Labelled: labelled}
	return runWords(ctx, &here, args[1:])
}

// endsWithInput reports whether a command for another machine must end when its input ends. Without
// a terminal, the end of the input is the only sign that nobody reads its output any more.
func endsWithInput(command string, onTerminal bool) bool {
	return !onTerminal && !aboutWord(command).OwnInput
}

func runWords(ctx context.Context, a *cli.App, words []string) error {
	if code := run(ctx, a, words); code != 0 {
		return cli.ExitStatus(code)
	}
	return nil
}

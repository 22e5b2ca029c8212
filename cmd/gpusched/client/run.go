package client

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/daemon/api"
)

// run carries out one command line with the whole grammar, and returns the exit status.
func run(ctx context.Context, a *app, args []string) (code int) {
	defer func() { code = a.flush(code) }()
	args, err := a.cutOwn(args)
	if err != nil {
		return a.finish(err)
	}
	if len(args) > 0 {
		if command := hidden(args[0]); command != nil {
			return a.finish(command(ctx, a, args[1:]))
		}
	}
	if done, err := a.helpTopic(args); done {
		return a.finish(err)
	}
	if args, err = a.cutHosts(args); err != nil {
		return a.finish(err)
	}
	args, err = habitual(args)
	if err != nil {
		return a.finish(err)
	}
	args = withCommand(args)
	a.words, a.noted = args, map[string]bool{}
	helped := false // help was asked for and has been given
	parser, err := newParser(grammarFor(args), a.out.W, func(int) { helped = true })
	if err != nil {
		return a.finish(err)
	}
	kctx, err := parser.Parse(args)
	if helped {
		return 0
	}
	if err != nil {
		return a.finish(misused(err))
	}
	if err := legible(kctx, args); err != nil {
		return a.finish(err)
	}
	if err := a.chooseEngine(kctx); err != nil {
		return a.finish(err)
	}
	kctx.BindTo(ctx, (*context.Context)(nil))
	selected := kctx.Selected()
	return a.finish(a.wherever(ctx, call{
		selected: selected.Target.Addr().Interface(), about: aboutNode(selected), ids: idsOf(selected),
		path: manual.CommandPath(selected), run: func(a *app) error { return kctx.Run(a) },
	}))
}

// flush prints what is left, and returns the exit status with an error of any write before it.
func (a *app) flush(code int) int {
	if err := a.out.W.Flush(); err != nil && code == 0 {
		code = a.finish(fmt.Errorf("the output could not be written: %w", err))
	}
	a.err.W.Flush()
	return code
}

// withCommand puts in the command that is meant where none is named: status,
// also before its options.
func withCommand(args []string) []string {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") && !slices.Contains([]string{"-h", "--help", "--help-all"}, args[0]) {
		return append([]string{"status"}, args...)
	}
	return args
}

// hidden returns a command for scripts of the package or another gpusched, which takes its words as they
// are; nil is none.
func hidden(word string) func(context.Context, *app, []string) error {
	switch word {
	case "__complete":
		return complete
	case "__man":
		return writeManual
	case remote.DocCommand:
		return answerDocument
	case remote.HereCommand:
		return answerHere
	case remote.LabelledCommand:
		return answerLabelled
	case attendCommand:
		return attendAgain
	}
	return nil
}

// newParser builds the parser over a grammar. done is called when help was
// printed.
func newParser(g any, out io.Writer, done func(int)) (*kong.Kong, error) {
	k, err := kong.New(g, append(mappers(),
		kong.Name("gpusched"),
		kong.Description(aboutProgram),
		kong.Exit(done),
		kong.Writers(out, out),
		kong.Help(printHelp),
		kong.Embed(&struct {
			HelpAll helpAll
			On      string `placeholder:"ENGINE"`
		}{}),
		kong.ExplicitGroups(groups),
	)...)
	if err != nil {
		return nil, fmt.Errorf("build the command line: %w", err)
	}
	return k, nil
}

// ownWords are those of a command line that are not of a job's command.
func ownWords(k *kong.Context, args []string) []string {
	if c, ok := k.Selected().Target.Addr().Interface().(interface{ command() []string }); ok {
		return args[:len(args)-len(c.command())]
	}
	return args
}

// legible refuses own words that are not text: the parser would change their
// bytes. The words of a job's command are not the parser's.
func legible(k *kong.Context, args []string) error {
	for _, arg := range ownWords(k, args) {
		if !utf8.ValidString(arg) {
			return refuse(api.CodeUsage, "any bytes can be in the command itself, in the current directory, "+
				"and in a variable that is set before and passed with -e NAME",
				"%q is not text in UTF-8, as options must be", arg)
		}
	}
	return nil
}

package parse

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
)

// AboutProgram is the first paragraph of gpusched's help.
const AboutProgram = "Run jobs on the GPUs of this machine. 'gpusched submit -- python train.py' queues a command; " +
	"it starts as you, in the environment you submitted it from, when it is its turn and its GPUs are free. " +
	"Without a command it shows the status."

// groups are headings for commands, and for the options of commands with many options.
var groups = []kong.Group{
	{Key: "jobs", Title: "Jobs:"},
	{Key: "machine", Title: "GPUs and scheduler:"},
	{Key: "needs", Title: "What the job needs:"},
	{Key: "life", Title: "How it runs and ends:"},
	{Key: "queue", Title: "When it starts, and how often:"},
	{Key: "label", Title: "Name and tags:"},
	{Key: "around", Title: "Environment:"},
	{Key: "self", Title: "What this command does:"},
	{Key: "output", Title: "Output:"},
}

// New returns a parser for a grammar. After the parser has printed help, it calls afterHelp.
func New(g any, out io.Writer, afterHelp func(int)) (*kong.Kong, error) {
	k, err := kong.New(g, append(mappers(),
		kong.Name("gpusched"),
		kong.Description(AboutProgram),
		kong.Exit(afterHelp),
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

// OwnWords returns the arguments before a job's command.
func OwnWords(k *kong.Context, args []string) []string {
	if c, ok := k.Selected().Target.Addr().Interface().(interface{ JobCommand() []string }); ok {
		return args[:len(args)-len(c.JobCommand())]
	}
	return args
}

// mayBeEmpty names the options for which an empty value means something.
var mayBeEmpty = []string{"name", "comment", "reason", "conda", "set-env"}

// CheckWords refuses arguments that are not UTF-8, since the parser would change their bytes, and
// options whose value is empty, mostly because a variable of a script is not set: such an option
// would count as left out. It allows any bytes in a job's command.
func CheckWords(k *kong.Context, args []string) error {
	for _, arg := range OwnWords(k, args) {
		if !utf8.ValidString(arg) {
			return cli.Refuse(api.CodeUsage, "any bytes can be in the command itself, in the current directory, "+
				"and in a variable that is set before and passed with -e NAME",
				"%q is not text in UTF-8, as options must be", arg)
		}
	}
	for _, p := range k.Path {
		if p.Flag == nil || cli.Spellings[p.Flag.Tag.Type].Optional || slices.Contains(mayBeEmpty, p.Flag.Name) {
			continue
		}
		if v := p.Flag.Target; (v.Kind() == reflect.String || v.Kind() == reflect.Slice) && v.Len() == 0 {
			return cli.Usagef("--%s is empty: give it a value, or leave it out", p.Flag.Name)
		}
	}
	return nil
}

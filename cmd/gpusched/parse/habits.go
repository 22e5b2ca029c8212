package parse

import (
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/daemon/api"
)

// habitualOption says what gpusched calls an option of another tool. It returns "" for an option
// that it does not know.
func habitualOption(n *kong.Node, parsers string) string {
	about := AboutNode(n)
	if about.Habits == "" {
		return ""
	}
	if text, ok := strings.CutPrefix(parsers, "--output: "); ok && about.Hosts == cli.OnOne && strings.Contains(text, cli.NoForm) {
		quoted, _, _ := strings.Cut(text, cli.NoForm)
		name, _ := strconv.Unquote(quoted)
		return "-o selects the output format, not a file: for the job's output in a file, use --log " + name
	}
	if strings.HasPrefix(parsers, "--priority: ") && strings.Contains(parsers, "is not a priority") {
		partitions, _ := about.Habits.Find("--partition")
		return parsers + "; for a partition: " + partitions.Note
	}
	word, isUnknown := strings.CutPrefix(parsers, "unknown flag ")
	if !isUnknown {
		return ""
	}
	word, _, _ = strings.Cut(word, ",")
	if habit, ok := about.Habits.Find(word); ok {
		return "there is no option " + word + ": " + habit.Here()
	}
	return ""
}

// Habitual replaces words that every program understands, such as --version and help, with
// gpusched's commands. If the command belongs to another tool, the error names gpusched's command.
func Habitual(args []string) ([]string, error) {
	if len(args) == 0 {
		return args, nil
	}
	switch first := args[0]; {
	case first == "--version":
		return append([]string{"version"}, args[1:]...), nil
	case first == "help" && len(args) > 1 && (args[len(args)-1] == "--all" || args[len(args)-1] == "-a"):
		return append(args[1:len(args)-1:len(args)-1], "--help-all"), nil
	case first == "help":
		return Habitual(append(args[1:len(args):len(args)], "--help"))
	}
	if habit, ok := manual.OtherCommands.Find(args[0]); ok {
		own := "gpusched " + habit.Ours
		command, _, _ := strings.Cut(own, " -")
		return nil, cli.Refuse(api.CodeUsage, "see '"+command+" --help'",
			"there is no command %q, did you mean '%s'?", args[0], own)
	}
	return args, nil
}

package parse

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/daemon/job"
)

// There are two forms of help. --help fits on a screen of 24 lines and 80 columns, and lists the
// options that people use. --help-all lists everything, like the manual page.
const briefLines = 23 // the 24th line is the shell's prompt

// UsedOptions lists the options of a new job that people use most.
const UsedOptions = "gpus gpu-mem mem time name conda set-env log begin after-ok notify retries "

type helpAll bool

// IgnoreDefault makes the parser run this option first, as it does with kong's own --help.
func (helpAll) IgnoreDefault() {}

func (helpAll) BeforeReset(ctx *kong.Context) error {
	fmt.Fprintf(ctx.Stdout, "Usage: %s\n", usageLine(ctx.Selected()))
	options := kong.HelpOptions{
		Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100, NoAppSummary: true,
		ValueFormatter: kong.DefaultHelpValueFormatter,
	}
	manual.Describe(ctx.Model.Node)
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	ctx.Exit(0)
	return nil
}

func printHelp(_ kong.HelpOptions, ctx *kong.Context) error {
	if n := ctx.Selected(); n != nil {
		WriteBrief(ctx.Stdout, n)
		return nil
	}
	WriteBriefProgram(ctx.Stdout, ctx.Model.Node)
	return nil
}

// usageLine returns the line that shows how to type the command. A nil n means the whole program.
func usageLine(n *kong.Node) string {
	if n == nil {
		return "gpusched COMMAND [options]"
	}
	return strings.TrimSpace(manual.CommandPath(n) + " " + n.Tag.Get("usage"))
}

func WriteBriefProgram(w io.Writer, root *kong.Node) {
	fmt.Fprintf(w, "Usage: %s\n\n%s\n\n", usageLine(nil), briefAbout)
	var rows []row
	for _, group := range groups {
		for _, n := range root.Children {
			if n.Group.Key == group.Key && AboutNode(n).Usual {
				rows = append(rows, row{n.Name, n.Help})
			}
		}
	}
	writeRows(w, rows, len(rows))
	fmt.Fprint(w, "\nMore: gpusched COMMAND --help, gpusched --help-all. A tour: gpusched help tour\n")
}

const briefAbout = "Run jobs on the GPUs of this machine, as in: gpusched submit -- python train.py"

func WriteBrief(w io.Writer, n *kong.Node) {
	path := manual.CommandPath(n)
	about := AboutNode(n)
	fmt.Fprintf(w, "Usage: %s\n\n%s\n", usageLine(n), n.Help)
	left := briefLines - 6
	if len(about.Examples) > 0 {
		left -= len(about.Examples) + 1
	}
	rows := briefRows(n, about.Options)
	if len(rows) > 0 {
		fmt.Fprintln(w)
		writeRows(w, rows, left)
	}
	if len(about.Examples) > 0 {
		fmt.Fprintln(w)
	}
	for _, example := range about.Examples {
		fmt.Fprintf(w, "    %s\n", example)
	}
	if len(n.Children) > 0 {
		fmt.Fprintf(w, "\nMore on each: %s %s --help\n", path, "COMMAND")
		return
	}
	fmt.Fprintf(w, "\nMore: %s --help-all, or man %s\n", path, strings.ReplaceAll(path, " ", "-"))
}

// briefRows returns the rows that --help lists: the subcommands, or else the options.
func briefRows(n *kong.Node, options string) (rows []row) {
	rows = job.Each(n.Children, func(c *kong.Node) row { return row{c.Name, c.Help} })
	for name := range strings.FieldsSeq(options) {
		if f := FlagNamed(n, "--"+name); f != nil {
			rows = append(rows, row{optionTerm(f), manual.OfOption(n, f).Brief})
		}
	}
	if len(rows) > 0 {
		return rows
	}
	for _, f := range n.Flags {
		if !f.Hidden {
			rows = append(rows, row{optionTerm(f), manual.OfOption(n, f).Brief})
		}
	}
	return rows
}

// optionTerm returns the option as it is typed.
func optionTerm(f *kong.Flag) string {
	name := "    --" + f.Name
	if f.Short != 0 {
		name = "-" + string(f.Short) + ", --" + f.Name
	}
	if f.Tag.Negatable != "" {
		name = strings.Replace(name, "--", "--[no-]", 1)
	}
	switch {
	case !f.IsBool():
		name += "=" + f.FormatPlaceHolder()
	case f.PlaceHolder != "": // the value may be left out
		name += "[=" + f.PlaceHolder + "]"
	}
	return name
}

// row is an option or command, and its short description.
type row struct{ name, about string }

// writeRows prints at most limit rows, one on each line.
func writeRows(w io.Writer, rows []row, limit int) {
	beyond := len(rows) - limit
	if beyond > 0 {
		rows = rows[:limit-1]
	}
	wide := 0
	for _, r := range rows {
		wide = max(wide, len(r.name))
	}
	for _, r := range rows {
		fmt.Fprintf(w, "  %-*s  %s\n", wide, r.name, r.about)
	}
	if beyond > 0 {
		fmt.Fprintf(w, "  … and %d more\n", beyond+1)
	}
}

func ChildNamed(n *kong.Node, word string) *kong.Node {
	for _, c := range n.Children {
		if c.Name == word || slices.Contains(c.Aliases, word) {
			return c
		}
	}
	return nil
}

func FlagNamed(n *kong.Node, word string) *kong.Flag {
	name, _, _ := strings.Cut(word, "=")
	for _, f := range n.Flags {
		if name == "--"+f.Name || f.Short != 0 && strings.HasPrefix(name, "-"+string(f.Short)) {
			return f
		}
	}
	if n.Parent != nil { // options of the program can be typed anywhere
		return FlagNamed(n.Parent, word)
	}
	return nil
}

package client

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
)

// Help is in two forms: --help is one screen of 24 lines of 80 columns, with what people
// use; --help-all has everything, as the manual page does.
const briefLines = 23 // the shell's prompt is the last one

// brief is what --help names of a command where that is not its first options.
type brief struct {
	options  []string
	examples []string
}

// briefCommands are those that 'gpusched --help' lists.
var briefCommands = strings.Fields("submit run shell attach list show why logs history wait cancel update resubmit " +
	"status top gpus doctor")

// ofJobs are the options of a new job that people use.
const ofJobs = "gpus gpu-mem mem time name conda set-env log begin after-ok notify retries "

// briefs are by the command as it is typed, without "gpusched".
var briefs = map[string]brief{
	"submit": {
		strings.Fields(ofJobs + "array wait dry-run"),
		[]string{"gpusched submit -g 2 -t 12h -n big -- torchrun --standalone train.py"},
	},
	"run": {
		strings.Fields(ofJobs + "tty"),
		[]string{"gpusched run -g 1 -- python train.py", "gpusched run --tty -g 1 -- python -m pdb train.py"},
	},
	"shell": {strings.Fields("gpus gpu-mem mem time name conda set-env after-ok"), []string{"gpusched shell -g 1 -t 2h"}},
	"doctor": {
		strings.Fields("test gpu-ids timeout report quiet output json"),
		[]string{"gpusched doctor --test", "gpusched doctor --report report.txt"},
	},
}

// helpAll is the option --help-all.
type helpAll bool

// IgnoreDefault has the parser look at the option before anything else, as kong's --help does.
func (helpAll) IgnoreDefault() {}

// BeforeReset prints the long help.
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

// printHelp prints the short help.
func printHelp(_ kong.HelpOptions, ctx *kong.Context) error {
	if n := ctx.Selected(); n != nil {
		writeBrief(ctx.Stdout, n)
		return nil
	}
	writeBriefProgram(ctx.Stdout, ctx.Model.Node)
	return nil
}

// usageLine says how the command is typed; nil is the program itself.
func usageLine(n *kong.Node) string {
	if n == nil {
		return "gpusched COMMAND [options]"
	}
	return strings.TrimSpace(manual.CommandPath(n) + " " + n.Tag.Get("usage"))
}

func writeBriefProgram(w io.Writer, root *kong.Node) {
	fmt.Fprintf(w, "Usage: %s\n\n%s\n\n", usageLine(nil), briefAbout)
	var rows []row
	for _, name := range briefCommands {
		if n := childNamed(root, name); n != nil {
			rows = append(rows, row{name, n.Help})
		}
	}
	writeRows(w, rows, len(rows))
	fmt.Fprint(w, "\nMore: gpusched COMMAND --help, gpusched --help-all. A tour: gpusched help tour\n")
}

const briefAbout = "Run jobs on the GPUs of this machine, as in: gpusched submit -- python train.py"

func writeBrief(w io.Writer, n *kong.Node) {
	path := manual.CommandPath(n)
	b := briefs[strings.TrimPrefix(path, "gpusched ")]
	fmt.Fprintf(w, "Usage: %s\n\n%s\n", usageLine(n), n.Help)
	left := briefLines - 6
	if len(b.examples) > 0 {
		left -= len(b.examples) + 1
	}
	rows := b.rows(n)
	if len(rows) > 0 {
		fmt.Fprintln(w)
		writeRows(w, rows, left)
	}
	if len(b.examples) > 0 {
		fmt.Fprintln(w)
	}
	for _, example := range b.examples {
		fmt.Fprintf(w, "    %s\n", example)
	}
	if len(n.Children) > 0 {
		fmt.Fprintf(w, "\nMore on each: %s %s --help\n", path, "COMMAND")
		return
	}
	fmt.Fprintf(w, "\nMore: %s --help-all, or man %s\n", path, strings.ReplaceAll(path, " ", "-"))
}

// rows are the options that help names of a command, or its commands.
func (b brief) rows(n *kong.Node) (rows []row) {
	for _, c := range n.Children {
		rows = append(rows, row{c.Name, c.Help})
	}
	for _, name := range b.options {
		if f := flagNamed(n, "--"+name); f != nil {
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

// optionTerm is the option as it is typed.
func optionTerm(f *kong.Flag) string {
	name := "    --" + f.Name
	if f.Short != 0 {
		name = "-" + string(f.Short) + ", --" + f.Name
	}
	if f.Tag.Negatable != "" {
		name = strings.Replace(name, "--", "--[no-]", 1)
	}
	if !f.IsBool() {
		name += "=" + f.FormatPlaceHolder()
	}
	return name
}

// row is an option or a command, with the few words for it.
type row struct{ name, about string }

// writeRows prints at most so many rows, each on one line.
func writeRows(w io.Writer, rows []row, most int) {
	beyond := len(rows) - most
	if beyond > 0 {
		rows = rows[:most-1]
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

package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
)

// Help is in two forms: --help is one screen of 24 lines of 80 columns, with what people
// use; --help-all has everything, as the manual page does.
const (
	briefLines   = 23 // the shell's prompt is the last one
	briefColumns = 79
)

// brief is what --help says of a command where that is not its first options, each with
// the beginning of its help.
type brief struct {
	options  []option
	examples []string
}

// option is an option of a command with the few words for it.
type option struct{ name, about string }

// briefCommands are those that 'gpusched --help' lists.
var briefCommands = strings.Fields("submit run shell attach list show why logs history wait cancel update resubmit " +
	"status top gpus doctor")

// ofJobs are the options of a new job that people use.
var ofJobs = []option{
	{"gpus", "How many: 0, 0.5 of one, 1 (the default), 2, …"},
	{"gpu-mem", "GPU memory that must be free on each, such as 20G"},
	{"mem", "Host memory, such as 32G; a job that takes more is killed"},
	{"time", "Time limit, such as 90m, 2h or 1-12 (days-hours)"},
	{"name", "Name for people; everybody can see it"},
	{"priority", "scavenger, low, normal, … or a number; higher goes first"},
	{"conda", "Run in this conda environment (--venv: of Python)"},
	{"after-ok", "Start when these jobs have completed, such as 41 or @"},
}

// briefs are by the command as it is typed, without "gpusched".
var briefs = map[string]brief{
	"submit": {
		slices.Concat(ofJobs, []option{
			{"array", "A task for each number, such as 0-9 or 0-199%4"},
			{"wait", "Show its output, and exit as it does"},
			{"dry-run", "Queue nothing; say where it would go"},
		}),
		[]string{"gpusched submit -g 2 -t 12h -n big -- torchrun --standalone train.py", "gpusched submit job.sh"},
	},
	"run": {
		slices.Concat(ofJobs, []option{{"tty", ""}}),
		[]string{"gpusched run -g 1 -- python train.py", "gpusched run -t -g 1 -- python -m pdb train.py"},
	},
	"doctor": {
		[]option{
			{"test", "Run a small job on each GPU, as you, and say what it found"},
			{"gpu-ids", "With --test: only on these, such as 0,2"},
			{"timeout", "With --test: how long to wait for busy GPUs (default 2m)"},
			{"report", "Print what a bug report needs, without names and secrets"},
			{"quiet", "Only what is not healthy"},
			{"output", ""},
			{"json", ""},
		},
		[]string{"gpusched doctor --test", "gpusched doctor --report report.txt"},
	},
	"shell": {ofJobs, []string{"gpusched shell -g 1 -t 2h"}},
}

// everywhere are the words for options that many commands have.
var everywhere = map[string]string{
	"output": "table, wide, json, jsonl, csv or ids",
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
	var rows []option
	for _, name := range briefCommands {
		if n := childNamed(root, name); n != nil {
			rows = append(rows, option{name, n.Help})
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
	left := briefLines - 7
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
func (b brief) rows(n *kong.Node) (rows []option) {
	if len(n.Children) > 0 {
		return each(n.Children, func(c *kong.Node) option { return option{c.Name, c.Help} })
	}
	for _, o := range b.options {
		if f := flagNamed(n, "--"+o.name); f != nil {
			rows = append(rows, option{optionTerm(f), orHelp(cmp.Or(o.about, everywhere[f.Name]), f)})
		}
	}
	if len(b.options) > 0 {
		return rows
	}
	for _, f := range n.Flags {
		if !f.Hidden {
			rows = append(rows, option{optionTerm(f), orHelp(everywhere[f.Name], f)})
		}
	}
	return rows
}

// orHelp is the first sentence of an option's help where there are no words for it.
func orHelp(about string, f *kong.Flag) string {
	if about != "" {
		return about
	}
	first, _, _ := strings.Cut(f.Help, ". ")
	return strings.TrimSuffix(first, ".")
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

// writeRows prints at most so many rows, each on one line.
func writeRows(w io.Writer, rows []option, most int) {
	beyond := len(rows) - most
	if beyond > 0 {
		rows = rows[:most-1]
	}
	wide := 0
	for _, r := range rows {
		wide = max(wide, len(r.name))
	}
	for _, r := range rows {
		room := briefColumns - 2 - wide - 2
		fmt.Fprintf(w, "  %-*s  %s\n", wide, r.name, clause(r.about, room))
	}
	if beyond > 0 {
		fmt.Fprintf(w, "  … and %d more\n", beyond+1)
	}
}

// clause is as much of a sentence as has room: without its last parts, or cut.
func clause(text string, room int) string {
	short := strings.TrimSuffix(text, ".")
	for utf8.RuneCountInString(short) > room {
		at := -1
		for _, sep := range []string{"; ", " (", ", ", ": ", " such as "} {
			at = max(at, strings.LastIndex(short, sep))
		}
		if at < room/3 {
			return term.Cut(text, room)
		}
		short = strings.TrimRight(short[:at], ",")
	}
	if short == strings.TrimSuffix(text, ".") {
		return text
	}
	return short
}

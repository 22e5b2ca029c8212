package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// writeManual is "gpusched __man DIR": it writes the manual pages, one for the
// program and one for each command. They differ only where the grammar or
// SOURCE_DATE_EPOCH does (invariant 6).
func writeManual(_ context.Context, a *app, args []string) error {
	if len(args) != 1 {
		return usagef("usage: gpusched __man DIR")
	}
	parser, err := newParser(&grammar{}, io.Discard, func(int) {})
	if err != nil {
		return err
	}
	date := ""
	if epoch := a.getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return usagef("SOURCE_DATE_EPOCH is %q, not a number of seconds", epoch)
		}
		date = time.Unix(seconds, 0).UTC().Format(time.DateOnly)
	}
	if err := os.MkdirAll(args[0], 0o755); err != nil {
		return err
	}
	leaves := parser.Model.Leaves(true)
	pages := map[string]string{"gpusched": programPage(parser.Model.Node, leaves, date)}
	for _, n := range leaves {
		pages[pageName(n)] = commandPage(n, date)
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(args[0], name+".1"), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func pageName(n *kong.Node) string {
	return "gpusched-" + strings.ReplaceAll(commandPath(n), " ", "-")
}

// page is a manual page being written.
type page struct{ strings.Builder }

func newPage(name, about, date string) *page {
	p := &page{}
	fmt.Fprintf(p, ".\\\" Made by 'gpusched __man'; do not edit.\n.TH %s 1 %s %s \"gpusched manual\"\n",
		strings.ToUpper(roff(name)), quoted(date), quoted("gpusched "+version))
	p.section("NAME")
	fmt.Fprintf(p, "%s \\- %s\n", roff(name), roff(about))
	return p
}

func (p *page) section(title string) { fmt.Fprintf(p, ".SH %s\n", title) }

// prose writes paragraphs; what is indented by four is an example.
func (p *page) prose(text string) {
	for i, block := range strings.Split(strings.TrimRight(text, "\n"), "\n\n") {
		if i > 0 {
			p.WriteString(".PP\n")
		}
		if !strings.HasPrefix(block, "    ") {
			p.WriteString(emphasised(block) + "\n")
			continue
		}
		p.WriteString(".nf\n.RS\n")
		for line := range strings.SplitSeq(block, "\n") {
			p.WriteString(roff(strings.TrimPrefix(line, "    ")) + "\n")
		}
		p.WriteString(".RE\n.fi\n")
	}
}

func (p *page) terms(list []entry) {
	for _, t := range list {
		fmt.Fprintf(p, ".TP\n.B %s\n%s\n", roff(t.word), emphasised(t.text))
	}
}

// flags writes the options under their headings.
func (p *page) flags(n *kong.Node) {
	group := ""
	for _, f := range n.Flags {
		if f.Hidden {
			continue
		}
		if f.Group != nil && f.Group.Key != group {
			group = f.Group.Key
			fmt.Fprintf(p, ".SS %s\n", roff(f.Group.Title))
		}
		fmt.Fprintf(p, ".TP\n%s\n%s\n", flagTerm(f), emphasised(f.Help))
	}
}

// flagTerm is the option as it is typed.
func flagTerm(f *kong.Flag) string {
	name := "--" + f.Name
	if f.Tag.Negatable != "" {
		name = "--[no-]" + f.Name
	}
	text := `\fB` + roff(name) + `\fP`
	if f.Short != 0 {
		text = `\fB\-` + string(f.Short) + `\fP, ` + text
	}
	if !f.IsBool() {
		text += `=\fI` + roff(f.FormatPlaceHolder()) + `\fP`
	}
	return text
}

// programPage is gpusched(1).
func programPage(app *kong.Node, leaves []*kong.Node, date string) string {
	p := newPage("gpusched", "run jobs on the GPUs of this machine", date)
	p.section("SYNOPSIS")
	for _, n := range leaves {
		fmt.Fprintf(p, "%s\n.br\n", synopsis(n))
	}
	p.section("DESCRIPTION")
	p.prose(aboutProgram)
	p.section("COMMANDS")
	for _, n := range leaves {
		fmt.Fprintf(p, ".TP\n.B %s\n%s See\n.BR %s (1).\n", roff(commandPath(n)), emphasised(n.Help), roff(pageName(n)))
	}
	p.section("JOBS")
	p.prose(aboutIDs)
	p.section("VALUES AND OUTPUT")
	p.prose(formats)
	for _, s := range []struct {
		title string
		list  []entry
	}{
		{"STATES OF A JOB", stateTexts}, {"WHY A JOB WAITS", reasonTexts}, {"EXIT STATUS", exitStatuses},
		{"ENVIRONMENT OF A JOB", jobVariables}, {"ENVIRONMENT", ownSettings}, {"FILES", files},
	} {
		p.section(s.title)
		p.terms(s.list)
	}
	for _, t := range topics {
		p.section(t.title)
		p.prose(t.text)
	}
	p.section("EXAMPLES")
	p.prose(examples)
	p.section("SEE ALSO")
	p.WriteString(".BR gpuschedd (8),\n.BR gpusched.toml (5),\n.BR journalctl (1),\n.BR systemd.resource\\-control (5)\n")
	return p.String()
}

// commandPage is the page of one command.
func commandPage(n *kong.Node, date string) string {
	p := newPage(pageName(n), strings.TrimSuffix(lowerFirst(n.Help), "."), date)
	p.section("SYNOPSIS")
	p.WriteString(synopsis(n) + "\n")
	for _, alias := range n.Aliases {
		fmt.Fprintf(p, ".br\n.B gpusched %s\n\\&...\n", roff(alias))
	}
	if n.Detail != "" {
		p.section("DESCRIPTION")
		p.prose(n.Detail)
	}
	if len(n.Positional) > 0 || len(n.Flags) > 0 {
		p.section("OPTIONS")
	}
	for _, arg := range n.Positional {
		fmt.Fprintf(p, ".TP\n.I %s\n%s\n", roff(strings.ToUpper(arg.Name)), emphasised(arg.Help))
	}
	p.flags(n)
	p.section("EXIT STATUS")
	p.prose("See gpusched(1).")
	p.section("SEE ALSO")
	p.WriteString(".BR gpusched (1)\n")
	return p.String()
}

func synopsis(n *kong.Node) string {
	return fmt.Sprintf("\\fBgpusched %s\\fP %s", roff(commandPath(n)), roff(n.Tag.Get("usage")))
}

// roff protects text from being read as a request or an escape.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}

// emphasised is roff, with commands in quotes in bold instead.
func emphasised(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "'")
		command, after, closed := strings.Cut(rest, "'")
		isCommand := strings.HasPrefix(command, "gpusched") || strings.HasPrefix(command, "journalctl")
		switch b.WriteString(before); {
		case !found:
			return roffKeeping(b.String())
		case closed && isCommand:
			b.WriteString(boldOn + command + boldOff)
			text = after
		default: // an apostrophe, or other words
			b.WriteString("'")
			text = rest
		}
	}
}

// Marks that no text has, for what roff would protect.
const boldOn, boldOff = "\x01", "\x02"

func roffKeeping(text string) string {
	return strings.NewReplacer(boldOn, `\fB`, boldOff, `\fP`).Replace(roff(text))
}

// quoted makes one argument of a macro.
func quoted(text string) string { return `"` + strings.ReplaceAll(roff(text), `"`, `""`) + `"` }

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

package manual

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Source has the data for the pages, in addition to the tables of this package.
type Source struct {
	Grammar *kong.Application
	Version string
	Date    string // date of the release; "" if unknown

	Besides        func(*kong.Node) func() Section // returns an additional section for a command's page; nil: none
	OnSlurm        []Section                       // what Slurm does not support or treats differently
	ReasonsOnSlurm []Entry                         // the reasons for waiting that only Slurm has
}

// Pages returns the manual pages by file name: a page for the program, one for each command, the
// tour, and one that explains the order of jobs.
func (s Source) Pages() map[string]string {
	leaves := s.Grammar.Leaves(true)
	pages := map[string]string{s.Grammar.Name + ".1": s.program(leaves), "gpusched.7": s.tour(), "gpusched-policy.7": s.policy()}
	for _, n := range leaves {
		pages[pageName(n)+".1"] = s.command(n)
	}
	return pages
}

// program returns the page gpusched(1).
func (s Source) program(leaves []*kong.Node) string {
	p := s.page("gpusched", 1, "run jobs on the GPUs of this machine")
	p.section("SYNOPSIS")
	for _, n := range leaves {
		fmt.Fprintf(p, "%s\n.br\n", synopsis(n))
	}
	p.prose("DESCRIPTION", s.Grammar.Help)
	p.section("COMMANDS")
	for _, n := range leaves {
		words := strings.TrimPrefix(CommandPath(n), "gpusched ")
		fmt.Fprintf(p, ".TP\n.B %s\n%s See\n.BR %s (1).\n", Roff(words), emphasised(n.Help), Roff(pageName(n)))
	}
	p.prose("JOBS", text("ids"))
	p.prose("VALUES AND OUTPUT", text("values"))
	p.writeTerms("STATES OF A JOB", States())
	p.writeTerms("WHY A JOB WAITS", slices.Concat(reasons(), s.ReasonsOnSlurm))
	p.writeTerms("EXIT STATUS", exitStatuses())
	p.writeTerms("ENVIRONMENT OF A JOB", jobVariables())
	p.writeTerms("ENVIRONMENT", ownSettings())
	p.writeTerms("FILES", files())
	for _, t := range splitSections("topics") {
		p.prose(t.Word, t.Text)
	}
	for _, section := range s.OnSlurm {
		p.writeTerms(section.Title, section.Entries)
	}
	p.writeTerms("COMMANDS OF OTHER TOOLS", OtherCommands.entries("gpusched "))
	for _, of := range OtherOptions {
		p.writeTerms(string(of), of.entries(""))
	}
	p.section("SEE ALSO")
	p.WriteString(".BR gpusched (7),\n.BR gpusched\\-policy (7),\n.BR gpuschedd (8),\n.BR gpusched\\-admin (7),\n.BR gpusched.toml (5),\n.BR journalctl (1),\n" +
		".BR systemd.resource\\-control (5)\n")
	return p.String()
}

// tour returns the page gpusched(7).
func (s Source) tour() string {
	return s.prosePage("tour", "gpusched", "a tour of gpusched, and recipes",
		".BR gpusched (1),\n.BR gpusched\\-submit (1),\n.BR gpusched\\-policy (7)\n")
}

// policy returns the page gpusched-policy(7).
func (s Source) policy() string {
	return s.prosePage("policy", "gpusched-policy", "which job goes next on the GPUs, and why",
		".BR gpusched (1),\n.BR gpusched\\-why (1),\n.BR gpusched.toml (5),\n.BR gpuschedd (8)\n")
}

// prosePage returns a page of section 7. The page has the sections of a text and refers to other
// pages.
func (s Source) prosePage(file, name, about, also string) string {
	p := s.page(name, 7, about)
	for _, t := range splitSections(file) {
		p.prose(t.Word, t.Text)
	}
	p.section("SEE ALSO")
	p.WriteString(also)
	return p.String()
}

// command returns the page for a command.
func (s Source) command(n *kong.Node) string {
	p := s.page(pageName(n), 1, strings.TrimSuffix(lowerFirst(n.Help), "."))
	p.section("SYNOPSIS")
	p.WriteString(synopsis(n) + "\n")
	for _, alias := range n.Aliases {
		fmt.Fprintf(p, ".br\n.B gpusched %s\n\\&...\n", Roff(alias))
	}
	if n.Detail != "" {
		p.prose("DESCRIPTION", n.Detail)
	}
	if besides := s.Besides(n); besides != nil {
		section := besides()
		p.writeTerms(section.Title, section.Entries)
	}
	if len(n.Positional) > 0 || len(n.Flags) > 0 {
		p.section("OPTIONS")
	}
	for _, arg := range n.Positional {
		fmt.Fprintf(p, ".TP\n.I %s\n%s\n", Roff(strings.ToUpper(arg.Name)), emphasised(arg.Help))
	}
	p.flags(n)
	p.prose("EXIT STATUS", "See gpusched(1).")
	p.section("SEE ALSO")
	p.WriteString(".BR gpusched (1)\n")
	return p.String()
}

// CommandPath returns a command as people type it, such as "gpusched gpu pause", without aliases.
func CommandPath(n *kong.Node) string {
	if n.Parent == nil {
		return n.Name
	}
	return CommandPath(n.Parent) + " " + n.Name
}

func pageName(n *kong.Node) string { return strings.ReplaceAll(CommandPath(n), " ", "-") }

func synopsis(n *kong.Node) string {
	return fmt.Sprintf("\\fB%s\\fP %s", Roff(CommandPath(n)), Roff(n.Tag.Get("usage")))
}

// flags writes the options in groups, each group under its heading. Options without a group come
// first.
func (p *page) flags(n *kong.Node) {
	groups := []string{""}
	in := map[string][]*kong.Flag{}
	for _, f := range n.Flags {
		title := ""
		if f.Group != nil {
			title = f.Group.Title
		}
		if !f.Hidden {
			groups, in[title] = append(groups, title), append(in[title], f)
		}
	}
	for _, title := range groups {
		if title != "" && in[title] != nil {
			fmt.Fprintf(p, ".SS %s\n", Roff(title))
		}
		for _, f := range in[title] {
			fmt.Fprintf(p, ".TP\n%s\n%s\n", flagTerm(f), emphasised(f.Help))
		}
		delete(in, title)
	}
}

// flagTerm returns the option as it is typed.
func flagTerm(f *kong.Flag) string {
	name := "--" + f.Name
	if f.Tag.Negatable != "" {
		name = "--[no-]" + f.Name
	}
	text := `\fB` + Roff(name) + `\fP`
	if f.Short != 0 {
		text = `\fB\-` + string(f.Short) + `\fP, ` + text
	}
	switch {
	case !f.IsBool():
		text += `=\fI` + Roff(f.FormatPlaceHolder()) + `\fP`
	case f.PlaceHolder != "": // the value may be left out
		text += `[=\fI` + Roff(f.PlaceHolder) + `\fP]`
	}
	return text
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

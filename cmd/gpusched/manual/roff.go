package manual

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// page is a manual page while it is being written.
type page struct{ strings.Builder }

func (s Source) page(name string, section int, about string) *page {
	p := &page{}
	fmt.Fprintf(p, ".\\\" Made by 'gpusched __man'; do not edit.\n.TH %s %d %s %s \"gpusched manual\"\n",
		strings.ToUpper(Roff(name)), section, Quoted(s.Date), Quoted("gpusched "+s.Version))
	p.section("NAME")
	fmt.Fprintf(p, "%s \\- %s\n", Roff(name), Roff(about))
	return p
}

func (p *page) section(title string) { fmt.Fprintf(p, ".SH %s\n", title) }

// prose writes a section of paragraphs. A block that is indented by four blanks is an example.
func (p *page) prose(title, text string) {
	p.section(title)
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
			p.WriteString(Roff(strings.TrimPrefix(line, "    ")) + "\n")
		}
		p.WriteString(".RE\n.fi\n")
	}
}

// writeTerms writes a section that explains words.
func (p *page) writeTerms(title string, list []Entry) {
	p.section(title)
	for _, t := range list {
		fmt.Fprintf(p, ".TP\n.B %s\n%s\n", Roff(t.Word), emphasised(t.Text))
	}
}

// Roff escapes text, so that roff finds no request or escape in the text. ASCII hyphens stay
// hyphens when they are copied from a page.
func Roff(text string) string { return textLine(escapes.Replace(text)) }

// emphasised is like Roff, but prints commands in bold type instead of in quotes.
func emphasised(text string) string {
	return textLine(quotedCommands().ReplaceAllString(escapes.Replace(text), `\fB$1\fP`))
}

var (
	escapes        = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...")
	quotedCommands = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`'((?:gpusched|journalctl)[^']*)'`)
	})
)

// textLine changes a line so that roff does not take it for a request.
func textLine(line string) string {
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		return `\&` + line
	}
	return line
}

// Quoted returns the text as a single argument of a roff macro.
func Quoted(text string) string { return `"` + strings.ReplaceAll(Roff(text), `"`, `""`) + `"` }

package pictures

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
)

// The size of a character, and the margin, in pixels.
const (
	cellWidth  = 8
	cellHeight = 18
	fontSize   = 13
	margin     = 14
)

// A terminal's colours, by SGR number.
var colours = map[string]string{
	"31": "#ff7b72", "32": "#56d364", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#39c5cf",
}

const (
	ink   = "#d0d7de"
	paper = "#0d1117"
)

// SVG draws lines of text with SGR sequences as a terminal with that many columns shows them. The
// result depends only on the arguments.
func SVG(title, text string, columns int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	width, height := columns*cellWidth+2*margin, len(lines)*cellHeight+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n", html.EscapeString(title))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="%s"/>`+"\n", width, height, paper)
	fmt.Fprintf(&b, `<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="%d" fill="%s" xml:space="preserve">`+"\n", fontSize, ink)
	for i, line := range lines {
		p := pen{b: &b, y: margin + i*cellHeight}
		p.line(line)
	}
	b.WriteString("</g>\n</svg>\n")
	return b.String()
}

// A pen draws one line.
type pen struct {
	b      *strings.Builder
	x      int // column of the next character
	y      int // upper edge of the line, in pixels
	styles []string
}

// line draws a line, applying its SGR sequences.
func (p *pen) line(line string) {
	for i, part := range strings.Split(line, "\x1b[") {
		if i > 0 {
			codes, rest, _ := strings.Cut(part, "m")
			part = rest
			if p.styles = strings.Split(codes, ";"); codes == "0" || codes == "" {
				p.styles = nil
			}
		}
		p.text(part)
	}
}

// text draws a text in one style. It draws block elements as shapes, so that they touch each other.
// It places each word at its column, whatever the font.
func (p *pen) text(text string) {
	if slices.Contains(p.styles, "7") {
		fmt.Fprintf(p.b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`+"\n",
			margin+p.x*cellWidth, p.y, term.Columns(text)*cellWidth, cellHeight, ink)
	}
	run := ""
	flush := func() {
		if word := strings.TrimRight(run, " "); word != "" {
			at := p.x - term.Columns(run)
			fmt.Fprintf(p.b, `<text x="%d" y="%d" textLength="%d"%s>%s</text>`+"\n", margin+at*cellWidth, p.y+fontSize+1,
				term.Columns(word)*cellWidth, p.attributes(), html.EscapeString(word))
		}
		run = ""
	}
	for _, r := range text {
		wide := term.Columns(string(r))
		switch {
		case p.block(r):
			flush()
			p.x += wide
			continue
		case r == ' ' && (run == "" || strings.HasSuffix(run, " ")):
			flush()
			p.x += wide
			continue
		}
		run += string(r)
		p.x += wide
	}
	flush()
}

// block draws r if r is a block element, and reports whether it is.
func (p *pen) block(r rune) bool {
	x := margin + p.x*cellWidth
	rect := func(x, y, w, h int, opacity string) {
		fmt.Fprintf(p.b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"%s/>`+"\n", x, p.y+y, w, h, p.colour(), opacity)
	}
	const top, tall = 2, cellHeight - 4
	switch {
	case r >= '▁' && r <= '█':
		part := int(r-'▁'+1) * tall / 8
		rect(x, top+tall-part, cellWidth, part, "")
	case r >= '░' && r <= '▓':
		rect(x, top, cellWidth, tall, fmt.Sprintf(` opacity="0.%d"`, []int{15, 40, 65}[r-'░']))
	case r == '▚':
		rect(x, top, cellWidth/2, tall/2, "")
		rect(x+cellWidth/2, top+tall/2, cellWidth/2, tall/2, "")
	default:
		return false
	}
	return true
}

func (p *pen) colour() string {
	for _, s := range p.styles {
		if c, ok := colours[s]; ok {
			return c
		}
	}
	return ink
}

func (p *pen) attributes() string {
	var a string
	if c := p.colour(); c != ink {
		a += ` fill="` + c + `"`
	}
	for _, s := range p.styles {
		switch s {
		case "1":
			a += ` font-weight="bold"`
		case "7":
			a += ` fill="` + paper + `"`
		case "2":
			a += ` opacity="0.6"`
		}
	}
	return a
}

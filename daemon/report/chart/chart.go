package chart

import (
	"fmt"
	"html"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Escape makes a text safe to be put into a page.
func Escape(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsGraphic(r) {
			return '?'
		}
		return r
	}, s))
}

// A Columns chart has a column for each slot of its axis. A column has a part for each series.
type Columns struct {
	Label  string               // description for readers who cannot see the chart
	Width  float64              // in SVG units
	Slots  []string             // names below the columns, as far as there is room
	Series []Series             // the lowest series first
	Over   bool                 // all series begin at the axis and overlap; otherwise they are stacked
	Most   float64              // largest value of the axis; 0: the largest of the data
	Figure func(float64) string // formats a value with its unit
}

// A Series has the parts of one colour.
type Series struct {
	Name, Class string
	Values      []float64 // by slot
}

// Layout of a column chart in SVG units.
const (
	columnsLeft = 76.0 // room for the values of the axis
	columnsTop  = 10.0
	columnsHigh = 180.0
	columnsFoot = 26.0 // room for the names of slots
)

// SVG draws the chart, or returns "" if all values are zero.
func (c *Columns) SVG() string {
	most := c.highest()
	if most == 0 {
		return ""
	}
	if most = round(most); c.Most > 0 {
		most = c.Most
	}
	var b strings.Builder
	floor := columnsTop + columnsHigh
	fmt.Fprintf(&b, "<svg viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"%s\">\n", c.Width, floor+columnsFoot, Escape(c.Label))
	for _, part := range []float64{1, 0.5, 0} {
		y := floor - part*columnsHigh
		fmt.Fprintf(&b, "<line class=\"axis\" x1=\"%g\" x2=\"%g\" y1=\"%g\" y2=\"%g\"/>", columnsLeft, c.Width, y, y)
		if part > 0 {
			fmt.Fprintf(&b, "<text x=\"%g\" y=\"%g\" text-anchor=\"end\">%s</text>\n", columnsLeft-8, y+5, Escape(c.Figure(part*most)))
		}
	}
	b.WriteByte('\n')
	free := 0.0 // where the next name can begin
	for i, slot := range c.Slots {
		c.column(&b, i, floor, columnsHigh/most)
		room := 10 * float64(utf8.RuneCountInString(slot))
		from := columnsLeft + (float64(i)+0.5)*c.step() - room/2
		if from >= free && from+room <= c.Width+room/4 {
			fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">%s</text>\n", from+room/2, floor+18, Escape(slot))
			free = from + room + 10
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// step returns the distance between two slots.
func (c *Columns) step() float64 { return (c.Width - columnsLeft) / float64(len(c.Slots)) }

// column draws the parts of the column of one slot.
func (c *Columns) column(b *strings.Builder, slot int, floor, scale float64) {
	for _, s := range c.Series {
		high := min(s.Values[slot]*scale, columnsHigh)
		if high <= 0 {
			continue
		}
		if !c.Over {
			floor -= high
		}
		y := floor
		if c.Over {
			y -= high
		}
		title := c.Slots[slot] + ": " + c.Figure(s.Values[slot])
		if s.Name != "" {
			title = c.Slots[slot] + ", " + s.Name + ": " + c.Figure(s.Values[slot])
		}
		fmt.Fprintf(b, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>%s</title></rect>\n",
			Escape(s.Class), columnsLeft+(float64(slot)+0.1)*c.step(), y, 0.8*c.step(), max(high, 0.5), Escape(title))
	}
}

// highest returns the height of the highest column.
func (c *Columns) highest() float64 {
	most := 0.0
	for i := range c.Slots {
		sum := 0.0
		for _, s := range c.Series {
			if sum += s.Values[i]; c.Over {
				sum = s.Values[i]
			}
			most = max(most, sum)
		}
	}
	return most
}

// round returns the next larger number that is easy to read and whose half is also easy to read.
func round(most float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(most)))
	for _, n := range []float64{1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8} {
		if most <= n*unit {
			return n * unit
		}
	}
	return 10 * unit
}

// A Bar is a horizontal bar.
type Bar struct {
	Name, Figure string
	Value        float64
}

// Bars draws bars below each other, or returns "" if all values are zero.
func Bars(label, class string, bars []Bar) string {
	const high, left, width, right = 24, 220, 1000, 90
	most := 0.0
	for _, bar := range bars {
		most = max(most, bar.Value)
	}
	if most == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n", width, len(bars)*high, Escape(label))
	for i, bar := range bars {
		y, long := i*high, max(bar.Value/most*(width-left-right), 1)
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>", left-8, y+16, Escape(bar.Name))
		fmt.Fprintf(&b, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>", class, left, y+4, long, high-8)
		fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%d\">%s</text>\n", left+long+6, y+16, Escape(bar.Figure))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// Periods returns the days, weeks or months between two dates, spelled as in a report.
func Periods(kind, from, to string) (list []string) {
	at, err := time.Parse(time.DateOnly, from)
	last, err2 := time.Parse(time.DateOnly, to)
	if err != nil || err2 != nil {
		return nil
	}
	months, days := 0, map[string]int{"day": 1, "week": 7}[kind]
	if days == 0 {
		months = 1
	}
	for ; !at.After(last); at = at.AddDate(0, months, days) {
		list = append(list, at.Format(time.DateOnly))
	}
	return list
}

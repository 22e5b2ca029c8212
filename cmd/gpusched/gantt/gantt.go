package gantt

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/job"
)

// A Picture says how to draw a plan.
type Picture struct {
	Width int  // in columns, including the GPUs' names
	ASCII bool // use ASCII characters only
	From  time.Time
	Until time.Time
	Job   job.ID // the job to highlight; 0: none
	Paint func(s term.Style, text string) string
}

// maxLanes is the largest number of rows for one GPU.
const maxLanes = 4

// glyphs are the characters that represent the kinds of spans.
type glyphs struct {
	running, planned, own, late, reserved, drained, unknown, free, begin rune
}

var (
	unicodeGlyphs = glyphs{'━', '─', '█', '┄', '╱', '×', '?', ' ', '├'}
	asciiGlyphs   = glyphs{'=', '-', '#', '.', '/', 'x', '?', ' ', '|'}
)

func (p *Picture) glyphs() glyphs {
	if p.ASCII {
		return asciiGlyphs
	}
	return unicodeGlyphs
}

// Key explains the characters that occur in a drawing.
func (p *Picture) Key(drawn []string) string {
	g := p.glyphs()
	all := strings.Join(drawn[min(1, len(drawn)):], "")
	var key []string
	for _, k := range []struct {
		glyph rune
		means string
	}{
		{g.own, "job " + p.Job.String()}, {g.running, "runs"}, {g.planned, "planned"}, {g.late, "perhaps"},
		{g.reserved, "reserved"}, {g.drained, "drained"}, {g.unknown, "unknown"},
	} {
		if strings.ContainsRune(all, k.glyph) {
			key = append(key, string([]rune{k.glyph, k.glyph})+" "+k.means)
		}
	}
	return strings.Join(key, "  ")
}

// Draw returns the lines of the picture: the axis, then the rows of each GPU.
func (p *Picture) Draw(gpus []job.GPUCourse) []string {
	head := 0
	for i := range gpus {
		head = max(head, len(name(&gpus[i])))
	}
	head++
	columns := p.Width - head
	if columns < 10 || !p.Until.After(p.From) {
		return nil
	}
	lines := []string{strings.TrimRight(strings.Repeat(" ", head)+p.axis(columns), " ")}
	for i := range gpus {
		title := name(&gpus[i])
		for _, row := range p.rows(gpus[i].Stays, columns) {
			lines = append(lines, strings.TrimRight(term.Pad(title, head, false)+row, " "))
			title = ""
		}
	}
	return lines
}

func name(g *job.GPUCourse) string { return "GPU " + strconv.Itoa(g.Index) }

// rawColumn returns the column of a moment. The column may be outside the picture.
func (p *Picture) rawColumn(t time.Time, columns int) int {
	if t.Before(p.From) {
		return -1 // a long time multiplied by columns would overflow
	}
	return int(int64(t.Sub(p.From)) * int64(columns) / int64(p.Until.Sub(p.From)))
}

// tickSteps are the possible distances between two labels of the axis.
var tickSteps = []time.Duration{
	5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 3 * time.Hour,
	6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// leastTick is the smallest number of columns between two labels.
const leastTick = 8

// axis returns the line with the labels: round times in the picture's time zone, and the date where
// a day begins.
func (p *Picture) axis(columns int) string {
	step := tickSteps[len(tickSteps)-1]
	for _, s := range tickSteps {
		if int64(s)*int64(columns) >= leastTick*int64(p.Until.Sub(p.From)) {
			step = s
			break
		}
	}
	line := []rune(strings.Repeat(" ", columns))
	y, m, d := p.From.Date()
	end := 0
	for t := time.Date(y, m, d, 0, 0, 0, 0, p.From.Location()); t.Before(p.Until); t = nextTick(t, step) {
		at := p.rawColumn(t, columns)
		if t.Before(p.From) || at < end {
			continue
		}
		text := []rune("'" + t.Format("15:04"))
		if t.Hour() == 0 && t.Minute() == 0 {
			text = []rune("'" + t.Format("Mon 2"))
		}
		if p.ASCII {
			text[0] = '|'
		} else {
			text[0] = '╷'
		}
		if at+len(text) > columns {
			break
		}
		copy(line[at:], text)
		end = at + len(text) + 1
	}
	return string(line)
}

// nextTick returns the next tick on the clock in the picture's time zone. It can't just add hours,
// since some days have 23 or 25 hours.
func nextTick(t time.Time, step time.Duration) time.Time {
	y, m, d := t.Date()
	if step >= 24*time.Hour {
		return time.Date(y, m, d+1, 0, 0, 0, 0, t.Location())
	}
	after := t.Add(step)
	if after.Day() != d {
		return time.Date(y, m, d+1, 0, 0, 0, 0, t.Location())
	}
	return after
}

// A cell is one column of a row.
type cell struct {
	glyph rune
	own   bool
	light bool
}

// rows returns the lanes of one GPU. Spans without a job are in the first lane. A bar may cover the
// possible end of the bar before it.
func (p *Picture) rows(spans []job.Stay, columns int) []string {
	g := p.glyphs()
	lanes := [][]cell{blank(columns, g.free)}
	ends := []time.Time{{}}
	var jobs, left []job.Stay
	for _, s := range spans {
		if s.Job != 0 {
			jobs = append(jobs, s)
			continue
		}
		from, until := p.column(s.From, columns), p.endColumn(s.Until, columns)
		fill(lanes[0], from, until, cell{glyph: asideGlyph(&g, s.Kind), light: true})
	}
	slices.SortStableFunc(jobs, func(a, b job.Stay) int { return a.From.Compare(b.From) })
	where := make([]int, len(jobs))
	for i, s := range jobs {
		at := slices.IndexFunc(ends, func(end time.Time) bool { return !s.From.Before(end) })
		switch {
		case at < 0 && len(lanes) == maxLanes:
			where[i] = -1
			left = append(left, s)
			continue
		case at < 0:
			at = len(lanes)
			lanes, ends = append(lanes, blank(columns, g.free)), append(ends, time.Time{})
		}
		where[i], ends[at] = at, cmp.Or(s.Until, s.Late, p.Until)
	}
	for i, s := range jobs {
		if where[i] >= 0 {
			p.drawJob(lanes[where[i]], &s, columns, g)
		}
	}
	out := job.Each(lanes, p.line)
	if len(left) > 0 {
		out = append(out, "and "+strconv.Itoa(len(left))+" more")
	}
	return out
}

func blank(columns int, free rune) []cell {
	return slices.Repeat([]cell{{glyph: free}}, columns)
}

func asideGlyph(g *glyphs, kind job.StayKind) rune {
	switch kind {
	case job.StayReserved:
		return g.reserved
	case job.StayDrained:
		return g.drained
	}
	return g.unknown
}

// column returns the column of a moment. A moment outside the picture gets the column at the edge.
func (p *Picture) column(t time.Time, columns int) int {
	return min(max(p.rawColumn(t, columns), 0), columns)
}

// endColumn returns the column of an end. An unknown end is at the right edge.
func (p *Picture) endColumn(t time.Time, columns int) int {
	if t.IsZero() || t.After(p.Until) {
		return columns
	}
	return p.column(t, columns)
}

func fill(lane []cell, from, to int, c cell) {
	for i := from; i < to; i++ {
		lane[i] = c
	}
}

// drawJob draws a job: its expected duration, the time until its latest possible end, and its
// number.
func (p *Picture) drawJob(lane []cell, s *job.Stay, columns int, g glyphs) {
	own := p.Job != 0 && s.Job == p.Job
	body := cell{glyph: g.planned, own: own}
	switch {
	case own:
		body.glyph = g.own
	case s.Kind == job.StayRunning:
		body.glyph = g.running
	}
	from, until, late := p.column(s.From, columns), p.endColumn(s.Until, columns), p.endColumn(s.Late, columns)
	if from == columns {
		return
	}
	until = max(until, from+1)
	tail := cell{glyph: g.late, own: own, light: true}
	if s.Until.IsZero() {
		until = from
		if tail.glyph = g.unknown; !s.Late.IsZero() {
			tail.glyph = g.late
		}
	} else if s.Late.IsZero() {
		tail.glyph = g.unknown
	}
	fill(lane, from, until, body)
	for i := until; i < late; i++ { // if the end is unknown, cover only free cells
		if tail.glyph != g.unknown || lane[i].glyph == g.free {
			lane[i] = tail
		}
	}
	label := []rune(term.Clean(s.Called))
	first := body.glyph
	if s.Kind == job.StayPlanned && !own {
		first = g.begin
	}
	label = append([]rune{first}, label...)
	end := max(until, late)
	if from+len(label) > end {
		label = label[:1] // otherwise the label would touch the next bar
	}
	for i, r := range label {
		lane[from+i] = cell{glyph: r, own: own}
	}
}

// line formats a row. Neighbouring cells of the same style are painted together.
func (p *Picture) line(lane []cell) string {
	style := func(c cell) term.Style {
		switch {
		case c.own:
			return term.Bold
		case c.light:
			return term.Dim
		}
		return term.Plain
	}
	end := len(lane)
	for end > 0 && lane[end-1].glyph == ' ' {
		end--
	}
	var b strings.Builder
	for i := 0; i < end; {
		from := i
		var text []rune
		for ; i < end && style(lane[i]) == style(lane[from]); i++ {
			text = append(text, lane[i].glyph)
		}
		b.WriteString(p.Paint(style(lane[from]), string(text)))
	}
	return b.String()
}

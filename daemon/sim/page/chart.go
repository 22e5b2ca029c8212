package page

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/sim"
)

// The drawing's size and margins, in SVG units.
const (
	width, height = 860.0, 320.0
	left, right   = 60.0, 150.0
	top, bottom   = 14.0, 40.0
)

// color is the colour of the run at a position. They are told apart by people
// who see no red or green too.
func color(i int) string {
	palette := [...]string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555"}
	return palette[i%len(palette)]
}

// chart is a plane with x and y from 0 to 1. What is below the floor, y = 0, is
// for the axis and what else a drawing has there.
type chart struct {
	strings.Builder
	floor float64
}

func newChart(label string) *chart { return newTallChart(label, height, height-bottom) }

func newTallChart(label string, height, floor float64) *chart {
	c := &chart{floor: floor}
	fmt.Fprintf(c, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" role="img" aria-label="%s">`+"\n", width,
		height, html.EscapeString(label))
	return c
}

func (c *chart) done() string { c.WriteString("</svg>"); return c.String() }

func px(x float64) float64            { return left + x*(width-left-right) }
func (c *chart) py(y float64) float64 { return c.floor - y*(c.floor-top) }

func (c *chart) line(x1, y1, x2, y2 float64, style string) {
	fmt.Fprintf(c, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" %s/>`+"\n", px(x1), c.py(y1), px(x2), c.py(y2), style)
}

func (c *chart) text(x, y float64, anchor, text string) {
	fmt.Fprintf(c, `<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", x, y, anchor, html.EscapeString(text))
}

const grid = `stroke="#dde2e8" stroke-width="1"`

// percents draws the grid of a y axis from 0 to 100 %.
func (c *chart) percents() {
	for p := 0; p <= 100; p += 25 {
		y := float64(p) / 100
		c.line(0, y, 1, y, grid)
		c.text(left-8, c.py(y)+4, "end", fmt.Sprintf("%d %%", p))
	}
}

// curve draws a polyline and its entry in the legend.
func (c *chart) curve(at int, name string, xs, ys []float64) {
	fmt.Fprintf(c, `<polyline fill="none" stroke="%s" stroke-width="1.8" stroke-linejoin="round" points="`, color(at))
	for i := range xs {
		fmt.Fprintf(c, "%.1f,%.1f ", px(xs[i]), c.py(ys[i]))
	}
	c.WriteString("\"/>\n")
	c.legend(at, color(at), name)
}

// legend writes an entry of the legend.
func (c *chart) legend(at int, color, name string) {
	y := top + 12 + float64(at)*20
	fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="14" height="4" fill="%s"/>`+"\n", width-right+14, y-6, color)
	c.text(width-right+34, y, "start", name)
}

// days draws the grid of an x axis of so many hours.
func (c *chart) days(hours float64) {
	days := int(hours / 24)
	for d := 0; d <= days; d += max(1, days/8) {
		x := float64(d) * 24 / max(hours, 1)
		c.line(x, 0, x, 1, grid)
		c.text(px(x), c.py(0)+18, "middle", fmt.Sprintf("day %d", d))
	}
}

// bars draws each policy's mean completion time beside the lower bound.
func bars(runs []Run) string {
	c := newChart("mean completion time by policy")
	most, bound := 0.0, 0.0
	for _, r := range runs {
		most, bound = max(most, r.Mean.MeanCompletion), max(bound, r.Mean.CompletionBound)
	}
	if most == 0 {
		most = 1
	}
	step := 1 / float64(max(1, len(runs)))
	for i, r := range runs {
		x, y := (float64(i)+0.2)*step, r.Mean.MeanCompletion/most*0.92
		fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", px(x), c.py(y),
			px(x+0.6*step)-px(x), c.py(0)-c.py(y), color(i))
		c.text(px(x+0.3*step), c.py(y)-5, "middle", fmt.Sprintf("%.2f h", r.Mean.MeanCompletion/3600))
		c.text(px(x+0.3*step), c.py(0)+18, "middle", r.Policy)
	}
	c.line(0, 0, 1, 0, `stroke="#888"`)
	y := bound / most * 0.92
	c.line(0, y, 1, y, `stroke="#333" stroke-dasharray="5 4"`)
	c.text(width-right+6, c.py(y)+4, "start", fmt.Sprintf("bound %.2f h", bound/3600))
	return c.done()
}

// distribution draws the share of jobs done, over a logarithmic time from a
// minute on.
func distribution(runs []Run) string {
	c := newChart("distribution of completion times")
	c.percents()
	const first = 60.0
	last := first * 10
	lists := make([][]float64, len(runs))
	for i, r := range runs {
		for _, o := range r.Outcomes {
			for k := range o.Jobs {
				lists[i] = append(lists[i], o.Jobs[k].Completion().Seconds())
			}
		}
		slices.Sort(lists[i])
		if n := len(lists[i]); n > 0 {
			last = max(last, lists[i][n-1])
		}
	}
	at := func(s float64) float64 { return math.Log(max(s, first)/first) / math.Log(last/first) }
	for _, m := range []struct {
		s    float64
		text string
	}{{60, "1 min"}, {600, "10 min"}, {3600, "1 h"}, {6 * 3600, "6 h"}, {86400, "1 d"}, {7 * 86400, "7 d"}, {30 * 86400,
		"30 d"}} {
		if m.s <= last {
			c.line(at(m.s), 0, at(m.s), 1, grid)
			c.text(px(at(m.s)), c.py(0)+18, "middle", m.text)
		}
	}
	for i, r := range runs {
		var xs, ys []float64
		n := len(lists[i])
		for k := 0; n > 0 && k <= points; k++ {
			rank := min(n-1, k*n/points)
			xs, ys = append(xs, at(lists[i][rank])), append(ys, float64(rank+1)/float64(n))
		}
		c.curve(i, r.Policy, xs, ys)
	}
	return c.done()
}

// points is how many points a curve has at most.
const points = 160

// usage draws the share of the machine in use, of the first seed.
func usage(runs []Run) string {
	c := newChart("GPUs in use over time")
	c.percents()
	longest := 1
	for _, r := range runs {
		if len(r.Outcomes) > 0 {
			longest = max(longest, len(r.Outcomes[0].Hourly))
		}
	}
	width := max(1, (longest+points-1)/points)
	c.days(float64(longest))
	for i, r := range runs {
		if len(r.Outcomes) > 0 {
			xs, ys := thin(r.Outcomes[0], width, longest)
			c.curve(i, r.Policy, xs, ys)
		}
	}
	return c.done()
}

// thin takes means over so many hours.
func thin(o *sim.Outcome, width, longest int) (xs, ys []float64) {
	for k := 0; k < len(o.Hourly); k += width {
		part := o.Hourly[k:min(k+width, len(o.Hourly))]
		sum := 0.0
		for _, v := range part {
			sum += v
		}
		middle := time.Duration(k)*time.Hour + time.Duration(len(part))*time.Hour/2
		xs, ys = append(xs, middle.Hours()/float64(longest)), append(ys, sum/float64(len(part)))
	}
	return xs, ys
}

package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gpusched/gpusched/daemon/sim"
)

// columns is how many steps a drawing of users over time has at most.
const columns = 80

// The drawing of users over time: shares above, a row for each user below.
const (
	sharesFloor = 150.0
	rowsTop     = sharesFloor + 30
	rowHeight   = 13.0
)

// othersColor is that of the users who have no colour of their own.
const othersColor = "#b8bec6"

// shownUsers is how many users have one.
const shownUsers = 6

// history is a run's fairness in few windows, of few users: those shown, and
// after them all others in one.
type history struct {
	hours            float64 // of a window
	got, even, waits [][]float64
	misplaced        []float64
}

// histories returns the history of each run's first seed, and the users shown:
// who got most in all runs.
func histories(runs []Run) ([]history, []string) {
	var all []*sim.Fairness
	most, longest := map[string]float64{}, 0.0
	for _, r := range runs {
		f := &sim.Fairness{}
		if len(r.Outcomes) > 0 {
			f = r.Outcomes[0].Fairness()
		}
		all = append(all, f)
		longest = max(longest, f.Window*float64(len(f.Misplaced)))
		for u, name := range f.Users {
			for _, v := range f.GPUTime[u] {
				most[name] += v
			}
		}
	}
	var users []string
	for name := range most {
		users = append(users, name)
	}
	slices.SortFunc(users, func(a, b string) int { return cmp.Or(cmp.Compare(most[b], most[a]), cmp.Compare(a, b)) })
	users = users[:min(len(users), shownUsers)]
	var list []history
	for _, f := range all {
		list = append(list, newHistory(f, users, longest))
	}
	return list, users
}

// newHistory takes windows together until a run of so many seconds has few.
func newHistory(f *sim.Fairness, users []string, longest float64) history {
	step := 1
	if f.Window > 0 {
		step = max(1, int(math.Ceil(longest/f.Window/columns)))
	}
	n := (len(f.Misplaced) + step - 1) / step
	h := history{hours: float64(step) * f.Window / 3600, misplaced: make([]float64, n)}
	for range len(users) + 1 {
		h.got = append(h.got, make([]float64, n))
		h.even = append(h.even, make([]float64, n))
		h.waits = append(h.waits, make([]float64, n))
	}
	used := make([]float64, n)
	for u, name := range f.Users {
		row := slices.Index(users, name)
		if row < 0 {
			row = len(users)
		}
		for k := range f.Misplaced {
			h.got[row][k/step] += f.GPUTime[u][k]
			h.even[row][k/step] += f.Even[u][k]
			h.waits[row][k/step] += f.Waited[u][k]
			used[k/step] += f.GPUTime[u][k]
			h.misplaced[k/step] += f.GPUTime[u][k] * f.Misplaced[k]
		}
	}
	for k := range used {
		h.misplaced[k] /= max(used[k], 1e-9)
	}
	return h
}

// misplaced draws the share of the GPU time in use that an even division would
// have given to others, over time.
func misplaced(runs []Run, list []history) string {
	c := newChart("GPU time that went to others than an even division gives")
	c.percents()
	hours := 1.0
	for _, h := range list {
		hours = max(hours, h.hours*float64(len(h.misplaced)))
	}
	c.days(hours)
	for i, h := range list {
		var xs []float64
		for k := range h.misplaced {
			xs = append(xs, (float64(k)+0.5)*h.hours/hours)
		}
		c.curve(i, runs[i].Policy, xs, h.misplaced)
	}
	return c.done()
}

// served draws who got the GPUs in use under one policy, and how far from an
// even division those were who waited.
func served(policy string, h history, users []string, hours float64) string {
	names := slices.Clone(users)
	if slices.Max(append([]float64{0}, h.got[len(users)]...)) > 0 {
		names = append(names, "others")
	}
	c := newTallChart("who got the GPUs, "+policy, rowsTop+rowHeight*float64(len(names))+6, sharesFloor)
	c.percents()
	c.days(hours)
	below := make([]float64, len(h.misplaced))
	for u, name := range names {
		c.band(u, len(users), h, below, hours)
		c.legend(u, userColor(u, len(users)), name)
		y := rowsTop + rowHeight*float64(u)
		c.text(left-8, y+rowHeight-3, "end", name)
		for k := range h.misplaced {
			c.cell(h, u, k, y, hours)
		}
	}
	return c.done()
}

func userColor(at, shown int) string {
	if at >= shown {
		return othersColor
	}
	return color(at)
}

// band draws one user's share of the GPU time in use, on top of those below.
func (c *chart) band(at, shown int, h history, below []float64, hours float64) {
	if len(below) == 0 {
		return
	}
	fmt.Fprintf(c, `<polygon fill="%s" points="`, userColor(at, shown))
	point := func(k int, y float64) { fmt.Fprintf(c, "%.1f,%.1f ", px(float64(k)*h.hours/hours), c.py(y)) }
	for k, y := range slices.Backward(below) {
		point(k+1, y)
		point(k, y)
	}
	for k := range below {
		used := 0.0
		for u := range h.got {
			used += h.got[u][k]
		}
		below[k] += h.got[at][k] / max(used, 1e-9)
		point(k, below[k])
		point(k+1, below[k])
	}
	c.WriteString("\"/>\n")
}

// The colours of who waited: less than an even division gives, about as much, more.
const (
	lessColor, evenColor, moreColor = "#b2182b", "#d5dae0", "#2166ac"
	aboutEven                       = 0.1
)

// cell draws how far from an even division a user was who waited in a window.
func (c *chart) cell(h history, u, k int, y, hours float64) {
	if h.waits[u][k] == 0 || h.even[u][k] == 0 {
		return
	}
	off := h.got[u][k]/h.even[u][k] - 1
	fill, opacity := evenColor, 1.0
	switch {
	case off < -aboutEven:
		fill, opacity = lessColor, max(-off, 0.15)
	case off > aboutEven:
		fill, opacity = moreColor, min(max(off, 0.15), 1)
	}
	x := px(float64(k) * h.hours / hours)
	fmt.Fprintf(c, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" fill-opacity="%.2f"/>`+"\n", x, y,
		px(float64(k+1)*h.hours/hours)-x, rowHeight-2, fill, opacity)
}

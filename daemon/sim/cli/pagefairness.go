package cli

import (
	"cmp"
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/report/chart"
	"github.com/gpusched/gpusched/daemon/sim"
)

// columns is the maximum number of columns in a chart over time, and shownUsers the maximum number
// of users with their own colour.
const columns, shownUsers = 80, 6

// shownOf returns the users with the most GPU time in the first seeds of all runs. It also returns
// the length of the longest run in seconds.
func shownOf(runs []policyRun) (users []string, longest float64) {
	most := map[string]float64{}
	for _, r := range runs {
		f := fairnessOf(r)
		longest = max(longest, f.Window*float64(len(f.Misplaced)))
		for u, name := range f.Users {
			for _, v := range f.GPUTime[u] {
				most[name] += v
			}
		}
	}
	users = slices.SortedFunc(maps.Keys(most), func(a, b string) int {
		return cmp.Or(cmp.Compare(most[b], most[a]), cmp.Compare(a, b))
	})
	return users[:min(len(users), shownUsers)], longest
}

func fairnessOf(r policyRun) *sim.Fairness {
	if len(r.Outcomes) == 0 {
		return &sim.Fairness{}
	}
	return r.Outcomes[0].Fairness()
}

// drawFairness draws two charts of a run's first seed: the users who had the GPUs, and the number
// of GPUs that an even division would have given to users who did not have them. A column is the
// mean over several windows, so that even the longest run has few columns.
func drawFairness(r policyRun, users []string, longest float64) (got, misplaced *chart.Columns) {
	f := fairnessOf(r)
	step := max(1, int((longest/max(f.Window, 1)+columns-1)/columns))
	n := (len(f.Misplaced) + step - 1) / step
	gpus := func(v float64) string { return fmt.Sprintf("%.2g GPUs", v) }
	got = &chart.Columns{Label: "who got the GPUs, " + r.Policy, Width: width, Figure: gpus}
	for i, name := range append(slices.Clone(users), "others") {
		got.Series = append(got.Series, chart.Series{Name: name, Class: fmt.Sprint("s", i), Values: make([]float64, n)})
	}
	away := make([]float64, n)
	for k := range n {
		got.Slots = append(got.Slots, fmt.Sprintf("day %.0f", float64(k*step)*f.Window/86400))
	}
	for u, name := range f.Users {
		row := slices.Index(users, name)
		if row < 0 {
			row = len(users)
		}
		for k := range f.Misplaced {
			part := f.GPUTime[u][k] / (f.Window * float64(step))
			got.Series[row].Values[k/step] += part
			away[k/step] += part * f.Misplaced[k]
		}
	}
	misplaced = &chart.Columns{Label: "GPUs that went to others, " + r.Policy, Width: width, Figure: gpus, Slots: got.Slots,
		Series: []chart.Series{{Class: "s0", Values: away}}}
	return got, misplaced
}

func legend(users []string) string {
	var b strings.Builder
	for i, name := range append(slices.Clone(users), "others") {
		fmt.Fprintf(&b, `<span class="s%d">&#9632;</span> %s `, i, html.EscapeString(name))
	}
	return b.String()
}

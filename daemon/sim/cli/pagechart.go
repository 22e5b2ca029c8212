package cli

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/report/chart"
)

// width is the width of a chart in SVG units.
const width = 1000

// chartMeans charts each policy's mean completion time and the lower bound.
func chartMeans(runs []policyRun) string {
	var list []chart.Bar
	bound := 0.0
	hours := func(name string, s float64) chart.Bar {
		return chart.Bar{Name: name, Figure: fmt.Sprintf("%.2f h", s/3600), Value: s}
	}
	for _, r := range runs {
		list, bound = append(list, hours(r.Policy, r.Mean.MeanCompletion)), max(bound, r.Mean.CompletionBound)
	}
	return chart.Bars("mean completion time by policy", "s0", append(list, hours("lower bound", bound)))
}

// quantiles are the columns of the table of completion times.
var quantiles = []int{10, 25, 50, 75, 90, 99}

// distribution returns a table: the hours after which given shares of the jobs have ended.
func distribution(runs []policyRun) string {
	var b strings.Builder
	b.WriteString("<table><tr><th>policy</th>")
	for _, q := range quantiles {
		fmt.Fprintf(&b, "<th>%d %%</th>", q)
	}
	for _, r := range runs {
		var list []float64
		for _, o := range r.Outcomes {
			for k := range o.Jobs {
				list = append(list, o.Jobs[k].Completion().Hours())
			}
		}
		slices.Sort(list)
		fmt.Fprintf(&b, "</tr>\n<tr><td>%s</td>", html.EscapeString(r.Policy))
		for _, q := range quantiles {
			if n := len(list); n > 0 {
				fmt.Fprintf(&b, "<td>%.2f</td>", list[min(n-1, q*n/100)])
			}
		}
	}
	b.WriteString("</tr>\n</table>")
	return b.String()
}

package page

import (
	"cmp"
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/sim"
)

// maxRows is how many users a table has at most.
const maxRows = 20

// row is a line of a table by user or size: a group of each policy's.
type row struct {
	name   string
	groups []sim.Group
}

func userRows(runs []Run) []row {
	rows := groupRows(runs, sim.Users, func(g *sim.Group) string { return g.User })
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.groups[0].GPUTime, a.groups[0].GPUTime) })
	return rows
}

func sizeRows(runs []Run) []row {
	return groupRows(runs, sim.Sizes, func(g *sim.Group) string { return fmt.Sprintf("%g", g.GPUs) })
}

// groupRows puts the policies' groups of one name in a row. All policies ran the
// same jobs, so they have the same groups.
func groupRows(runs []Run, of func(...*sim.Outcome) []sim.Group, name func(*sim.Group) string) []row {
	var rows []row
	for i, r := range runs {
		for k, g := range of(r.Outcomes...) {
			if i == 0 {
				rows = append(rows, row{name: name(&g)})
			}
			rows[k].groups = append(rows[k].groups, g)
		}
	}
	return rows
}

// groups writes a table with mean waits and slowdowns of each policy.
func groups(b *strings.Builder, runs []Run, title, heading string, of func([]Run) []row) {
	rows := of(runs)
	fmt.Fprintf(b, "<h2>%s</h2>\n<p class=\"note\">Mean wait in hours, and mean slowdown.", title)
	if len(rows) > maxRows {
		fmt.Fprintf(b, " The %d of %d that got most.", maxRows, len(rows))
		rows = rows[:maxRows]
	}
	fmt.Fprintf(b, "</p>\n<table><tr><th>%s</th><th>jobs</th><th>GPU-h</th>", heading)
	for _, r := range runs {
		fmt.Fprintf(b, "<th>%s: wait h</th><th>slowdown</th>", html.EscapeString(r.Policy))
	}
	b.WriteString("</tr>\n")
	for _, r := range rows {
		fmt.Fprintf(b, "<tr><td>%s</td><td>%d</td><td>%.1f</td>", html.EscapeString(r.name), r.groups[0].Jobs,
			r.groups[0].GPUTime/3600)
		for i := range r.groups {
			fmt.Fprintf(b, "<td>%.2f</td><td>%.1f</td>", r.groups[i].MeanWait/3600, r.groups[i].Slowdown)
		}
		b.WriteString("</tr>\n")
	}
	b.WriteString("</table>\n")
}

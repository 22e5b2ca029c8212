package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sim"
)

// A groupRow is a row of a table by user or size.
type groupRow struct {
	name string
	sim.Group
}

// userRows returns a row for each user. The user with the largest GPU time comes first.
func userRows(runs []*sim.Outcome) []groupRow {
	rows := job.Each(sim.Users(runs...), func(g sim.Group) groupRow { return groupRow{g.User, g} })
	slices.SortStableFunc(rows, func(a, b groupRow) int { return cmp.Compare(b.GPUTime, a.GPUTime) })
	return rows
}

// sizeRows returns a row for each size. The smallest size comes first.
func sizeRows(runs []*sim.Outcome) []groupRow {
	return job.Each(sim.Sizes(runs...), func(g sim.Group) groupRow { return groupRow{fmt.Sprintf("%g", g.GPUs), g} })
}

// writeGroups prints the rows of each policy. The figures are means over its seeds.
func writeGroups(out io.Writer, runs []policyRun, title string, of func([]*sim.Outcome) []groupRow) error {
	fmt.Fprintf(out, "\n%s\n", title)
	columns := sim.GroupColumns()
	head := []string{"policy", strings.TrimPrefix(title, "by ")}
	for _, c := range columns {
		head = append(head, c.Heading)
	}
	table := [][]string{head}
	for _, run := range runs {
		rows := of(run.Outcomes)
		all := 0.0
		for i := range rows {
			all += rows[i].GPUTime
		}
		for i := range rows {
			line := []string{run.Policy, rows[i].name}
			for _, c := range columns {
				line = append(line, c.Text(&rows[i].Group, all))
			}
			table = append(table, line)
		}
	}
	return writeRows(out, table)
}

package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/gpusched/gpusched/daemon/sim"
)

// startColumns are the figures of expected starts, in percent but for the first
// and the ratio.
var startColumns = []struct {
	heading string
	text    func(*sim.StartFigures) string
}{
	{"asked", func(f *sim.StartFigures) string { return fmt.Sprintf("%.0f", f.Asked) }},
	{"at once %", func(f *sim.StartFigures) string { return percent(f.AtOnce) }},
	{"nothing %", func(f *sim.StartFigures) string { return percent(f.Nothing) }},
	{"now %", func(f *sim.StartFigures) string { return percent(f.Now) }},
	{"told %", func(f *sim.StartFigures) string { return percent(f.Told) }},
	{"error p50 %", func(f *sim.StartFigures) string { return percent(f.ErrorP50) }},
	{"p90 %", func(f *sim.StartFigures) string { return percent(f.ErrorP90) }},
	{"real/told", func(f *sim.StartFigures) string { return fmt.Sprintf("%.2f", f.RatioP50) }},
	{"range held %", func(f *sim.StartFigures) string { return percent(f.Held) }},
	{"after 1 h: p50 %", func(f *sim.StartFigures) string { return percent(f.LaterP50) }},
	{"p90 %", func(f *sim.StartFigures) string { return percent(f.LaterP90) }},
}

func percent(share float64) string { return fmt.Sprintf("%.0f", 100*share) }

// writeStarts prints how well expected starts came true.
func (o *options) writeStarts(out io.Writer, runs []policyRun) error {
	fmt.Fprint(out, "\nexpected starts\n")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := []string{"policy", "seed"}
	for _, c := range startColumns {
		head = append(head, c.heading)
	}
	fmt.Fprintln(w, strings.Join(head, "\t")+"\t")
	for i := range runs {
		for k, outcome := range runs[i].Outcomes {
			writeStartRow(w, runs[i].Policy, fmt.Sprint(o.seeds[k]), outcome.Starts)
		}
		if len(runs[i].Outcomes) > 1 {
			writeStartRow(w, runs[i].Policy, "mean", sim.MeanStarts(runs[i].Outcomes))
		}
	}
	return w.Flush()
}

func writeStartRow(w io.Writer, policy, seed string, f *sim.StartFigures) {
	if f == nil {
		return
	}
	row := []string{policy, seed}
	for _, c := range startColumns {
		row = append(row, c.text(f))
	}
	fmt.Fprintln(w, strings.Join(row, "\t")+"\t")
}

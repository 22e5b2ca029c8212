package cli

import (
	"fmt"
	"html"
	"strings"

	"github.com/gpusched/gpusched/daemon/sim"
)

// A policyRun has the outcomes of one policy by seed, and the means of their figures.
type policyRun struct {
	Policy   string
	Outcomes []*sim.Outcome
	Mean     sim.Metrics
}

const style = `body{font:15px/1.45 system-ui,sans-serif;max-width:80em;margin:2em auto;padding:0 1em;color:#1b1f24}
h1{font-size:1.5em}h2{font-size:1.1em;margin-top:2em}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
td,th{padding:.25em .7em;text-align:right;border-bottom:1px solid #d8dde3}td:first-child,th:first-child{text-align:left}
pre{overflow:auto}svg{width:100%;height:auto}svg text{font:14px system-ui,sans-serif;fill:#444}.note{color:#555}
.axis{stroke:#dde2e8}
.s0{fill:#0072b2;color:#0072b2}.s1{fill:#d55e00;color:#d55e00}.s2{fill:#009e73;color:#009e73}
.s3{fill:#cc79a7;color:#cc79a7}.s4{fill:#e69f00;color:#e69f00}
.s5{fill:#56b4e9;color:#56b4e9}.s6{fill:#b8bec6;color:#b8bec6}`

// render returns the page: well-formed XML without external resources. The argument subtitle
// describes the run, and tables has the figures as text.
func render(title, subtitle, tables string, runs []policyRun) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><title>%s</title><style>%s</style></head><body>\n", html.EscapeString(title), style)
	fmt.Fprintf(&b, "<h1>%s</h1>\n<p>%s</p>\n<pre>%s</pre>\n", html.EscapeString(title), html.EscapeString(subtitle), html.EscapeString(tables))
	section(&b, "Mean completion time",
		"From submission to end. No scheduler can beat the lower bound.", chartMeans(runs))
	section(&b, "How soon jobs are done",
		"Hours after submission within which this share of the jobs completed.", distribution(runs))
	writeFairness(&b, runs)
	b.WriteString("</body></html>\n")
	return b.String()
}

func section(b *strings.Builder, title, note, svg string) {
	fmt.Fprintf(b, "<h2>%s</h2>\n<p class=\"note\">%s</p>\n%s\n", html.EscapeString(title), html.EscapeString(note), svg)
}

// writeFairness writes charts of users over time. They show each policy's first seed.
func writeFairness(b *strings.Builder, runs []policyRun) {
	users, longest := shownOf(runs)
	for _, r := range runs {
		got, misplaced := drawFairness(r, users, longest)
		section(b, "Who got the GPUs: "+r.Policy, "GPUs in use by each user, first seed.", got.SVG()+"<p>"+legend(users)+"</p>")
		section(b, "How far from an even division: "+r.Policy, "GPUs that would have gone to other users if, at each instant, the GPUs in use "+
			"were divided evenly among the users with jobs, up to what their jobs request. First seed.", misplaced.SVG())
	}
}

package look

import (
	"strconv"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// writeTopology prints a matrix that shows how the GPUs are connected.
func writeTopology(a *cli.App, reply api.GPUsReply, wide bool) {
	if len(reply.Links) == 0 {
		a.Out.Printf("how the GPUs are connected is not known\n")
		return
	}
	best := map[[2]int]string{}
	for _, l := range reply.Links {
		best[[2]int{l.A, l.B}] = linkWord(l)
	}
	index := func(g api.GPU) string { return strconv.Itoa(g.Index) }
	cols := []term.Column[api.GPU]{{Title: "GPU", Right: true, Cell: index}}
	for _, other := range reply.GPUs {
		cols = append(cols, term.Column[api.GPU]{Title: strconv.Itoa(other.Index), Cell: func(g api.GPU) string {
			if g.Index == other.Index {
				return "-"
			}
			word := best[[2]int{min(g.Index, other.Index), max(g.Index, other.Index)}]
			if word == "" {
				return "?"
			}
			return word
		}})
	}
	cols = append(cols,
		term.Column[api.GPU]{Title: "NUMA", Right: true, Cell: func(g api.GPU) string { return cli.Measured(g.NUMANode, " ") }},
		term.Column[api.GPU]{Title: "CPUS", Cell: func(g api.GPU) string { return cli.Dash(g.CPUs) }})
	term.WriteTable(a.Out, cols, reply.GPUs, wide)
}

// linkWord names the connection between two GPUs. NV4 means four lanes of NVLink.
func linkWord(l job.GPULink) string {
	if l.Kind == "nvlink" {
		return "NV" + strconv.Itoa(l.Lanes)
	}
	return l.Kind
}

package onslurm

import (
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/sbatch"
	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// options are the gaps of commands for queries and for
// administrators. Package sbatch has the gaps of commands for jobs.
var options = []engines.Gap{
	gap("gpu pause --until", "Slurm drains a node until somebody resumes it", "leave it out, and use 'gpusched gpu resume' when that time comes"),
	gap("history --attempts", "Slurm keeps only the last start of a job", "leave it out"),
	gap("logs --attempt", "Slurm keeps the output of all starts of a job in one file", "leave it out"),
	gap("logs --timestamps", "Slurm keeps no times with the output of a job", "make the command print them"),
	gap("why --plan", "Slurm shows no plan of its GPUs", "'gpusched why ID' shows the expected start once Slurm has worked it out"),
}

func gap(what, why, next string) engines.Gap { return engines.Gap{What: what, Why: why, Next: next} }

// OptionGaps returns the options that Slurm does not have, or that have another meaning there:
// options of new jobs, of update, and of other commands. Options of new jobs are listed without a
// command. The caller owns the slice.
func OptionGaps() (list []engines.Gap) {
	for _, g := range sbatch.Gaps() {
		list = append(list, gap(g.Option, g.Why, g.Next))
	}
	for _, g := range sbatch.UpdateGaps() {
		list = append(list, gap("update "+g.Option, g.Why, g.Next))
	}
	return append(list, options...)
}

// Refusal returns the reason why Slurm cannot carry out an option, such as "logs --attempt", and an
// alternative. It returns nil if Slurm can.
func (e *Engine) Refusal(option string) *api.Error {
	for _, g := range options {
		if g.What == option {
			name := option[strings.LastIndexByte(option, ' ')+1:]
			return engines.Refuse(api.CodeUsage, g.Next, "%s (%s)", g.Why, name)
		}
	}
	return nil
}

// Manual returns the manual's entries about Slurm: the options that Slurm does not have, and the
// reasons for waiting that only its jobs have.
func Manual() (options, reasons []manual.Entry) {
	entry := func(g engines.Gap) manual.Entry { return manual.Entry{Word: g.What, Text: g.Text()} }
	return job.Each(OptionGaps(), entry), slices.Clone(ownReasons)
}

package onslurm

import (
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/sbatch"
	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/daemon/api"
)

// options are those of commands that look or are for administrators. Those of jobs are package sbatch's.
var options = []engines.Gap{
	gap("gpu pause --until", "Slurm drains a node until somebody resumes it", "leave it out, and use 'gpusched gpu resume' when that time comes"),
	gap("history --attempts", "Slurm keeps the last start of a job only", "leave it out"),
	gap("logs --attempt", "Slurm keeps what all starts of a job print in one file", "leave it out"),
	gap("logs --timestamps", "Slurm keeps no times with what a job prints", "have the command print them"),
	gap("why --plan", "Slurm tells no plan of its GPUs", "'gpusched why ID' has the expected start, where Slurm has worked it out"),
}

func gap(what, why, next string) engines.Gap { return engines.Gap{What: what, Why: why, Next: next} }

// OptionGaps are the options that Slurm has no place for, or which mean something else there: of new jobs, which are
// named without a command, of update, and of other commands. The slice is the caller's.
func OptionGaps() (list []engines.Gap) {
	for _, g := range sbatch.Gaps() {
		list = append(list, gap(g.Option, g.Why, g.Next))
	}
	for _, g := range sbatch.UpdateGaps() {
		list = append(list, gap("update "+g.Option, g.Why, g.Next))
	}
	return append(list, options...)
}

// Refusal says why an option can't be asked of Slurm, as in "logs --attempt", and what can be done instead; nil: it
// can.
func (e *Engine) Refusal(option string) *api.Error {
	for _, g := range options {
		if g.What == option {
			name := option[strings.LastIndexByte(option, ' ')+1:]
			return engines.Refuse(api.CodeUsage, g.Next, "%s (%s)", g.Why, name)
		}
	}
	return nil
}

// Manual is what the manual says of a Slurm: the options that it has no place for, and the reasons that only its
// jobs wait for.
func Manual() (options, reasons []manual.Entry) {
	for _, g := range OptionGaps() {
		options = append(options, manual.Entry{Word: g.What, Text: g.Text()})
	}
	return options, slices.Clone(ownReasons)
}

package onslurm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/sbatch"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/daemon/api"
)

// Gap is a command that cannot be asked of Slurm, or an option of one.
type Gap struct {
	Command string // as it is typed after "gpusched"; of one with commands of its own, all of these
	Why     string // a sentence without its full stop
	Next    string // what to do instead; "": it is not refused, but means something else
}

// gaps is the one table of them: the command line refuses by it, and the manual is made of it.
var gaps = []Gap{
	{"config", "these are the settings of the scheduler of this machine", "Slurm's are in slurm.conf: 'scontrol show config'"},
	{"daemon", "Slurm has daemons of its own", "a Slurm administrator uses 'scontrol update PartitionName=… State=DOWN' to let no job start"},
	{"doctor", "it checks the scheduler of this machine", "'gpusched health' checks Slurm from here"},
	{"events", "Slurm does not tell others what changes", "'gpusched list --watch' looks again and again; sbatch's --mail-type sends mail"},
	{"export", "it writes down the settings of this machine", "'gpusched --on local export slurm'"},
	{"mcp", "it asks the scheduler of this machine", "'gpusched list --json' and the other commands can be run by an agent"},
	{"metrics", "Slurm is measured by exporters of its own", "for example prometheus-slurm-exporter; 'gpusched status --json' has counts"},
	{"migrate", "it moves jobs from this machine's queue", "'gpusched --on local migrate --to slurm ID...'"},
	{"report", "Slurm's accounting has the sums", "'sreport cluster AccountUtilizationByUser -T gres/gpu'"},
	{"reserve", "in Slurm an administrator reserves nodes", "'scontrol create reservation', 'scontrol show reservation'"},
	{"resubmit", "Slurm does not keep the environment that a job was submitted with", "submit it again, or 'gpusched requeue' for the same job once more"},
	{"screens", "a session of GNU screen would be on another machine", "'gpusched attach' is a shell in the job"},
	{"top", "it asks the scheduler of this machine", "'gpusched status --watch', and 'gpusched exec ID -- nvidia-smi' for what a job's GPUs do"},
	{"usage", "what is used of quotas is for Slurm's accounting to say", "'sshare', and 'sacctmgr show assoc' for the limits"},
	{"why --plan", "Slurm tells no plan of its GPUs", "'gpusched why ID' has the expected start, where Slurm has worked it out"},
	{"watch", "it keeps its place by the request keys of this machine's queue", "'gpusched submit --file' queues the lines of a file once"},
}

// The options of commands that look or are for administrators. Those of jobs are package sbatch's.
var options = []Gap{
	{"gpu pause --until", "Slurm drains a node until somebody resumes it", "leave it out, and use 'gpusched gpu resume' when that time comes"},
	{"history --attempts", "Slurm keeps the last start of a job only", "leave it out"},
	{"logs --attempt", "Slurm keeps what all starts of a job print in one file", "leave it out"},
	{"logs --timestamps", "Slurm keeps no times with what a job prints", "have the command print them"},
}

// Gaps are the commands that Slurm has no place for, by name. The slice is the caller's.
func Gaps() []Gap { return slices.Clone(gaps) }

// OptionGaps are the options that Slurm has no place for, or which mean something else there: of new jobs, which are
// named without a command, of update, and of other commands. The slice is the caller's.
func OptionGaps() (list []Gap) {
	for _, g := range sbatch.Gaps() {
		list = append(list, Gap{g.Option, g.Why, g.Next})
	}
	for _, g := range sbatch.UpdateGaps() {
		list = append(list, Gap{"update " + g.Option, g.Why, g.Next})
	}
	return append(list, options...)
}

// Text is the row for the manual: a sentence or two.
func (g Gap) Text() string {
	if g.Next == "" {
		return "Different on Slurm: " + g.Why + "."
	}
	return "Refused: " + g.Why + ". Instead: " + g.Next + "."
}

// optionRefusal is that of an option that has a row of its own here; nil: it has none.
func optionRefusal(option string) *api.Error {
	for _, g := range options {
		if g.Command == option {
			name := option[strings.LastIndexByte(option, ' ')+1:]
			return &api.Error{Code: api.CodeUsage, Message: g.Why + " (" + name + ")", Hint: g.Next}
		}
	}
	return nil
}

// Refusal says why a command can't be carried out, and what can be done instead; nil where it can. The
// command is as it is typed after "gpusched", with the option that matters.
func (e *Engine) Refusal(command string) *api.Error {
	for _, g := range gaps {
		if command == g.Command || strings.HasPrefix(command, g.Command+" ") {
			return &api.Error{Code: api.CodeUsage, Message: fmt.Sprintf("'gpusched %s' is not for Slurm: %s", g.Command, g.Why), Hint: g.Next}
		}
	}
	return optionRefusal(command)
}

// Manual is what the manual says of a Slurm: the commands that it has no place for, the options, and the reasons
// that only its jobs wait for.
func Manual() (commands, options, reasons []manual.Entry) {
	for _, g := range Gaps() {
		commands = append(commands, manual.Entry{Word: g.Command, Text: g.Text()})
	}
	for _, g := range OptionGaps() {
		options = append(options, manual.Entry{Word: g.Command, Text: g.Text()})
	}
	for _, c := range Codes() {
		reasons = append(reasons, manual.Entry{Word: string(c.Code), Text: c.Text})
	}
	return commands, options, reasons
}

package alias

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// A Call is the translation of another tool's command line.
type Call struct {
	Words []string // gpusched's command and arguments; empty if there is nothing to run
	Notes []string // messages to print first
	Help  string   // a text to print instead of running anything
	NoGPU bool     // a job without a GPU option gets no GPU
	Log   string   // the file of a job whose options name none; "" means none

	Submitted string // the message for a queued job, with %d for its id; "" means gpusched's own message
	Silent    bool   // print no message for a queued job
	// Table formats jobs as the other tool does. nil means gpusched's own format.
	Table func(jobs []api.Job, now time.Time) []string
	// Check returns an error if the other tool would have forgotten the jobs. nil means no check.
	Check func(jobs []api.Job, now time.Time) error
	// This function reports whether a job matches the filters. It is applied to the named jobs or,
	// if none are named, to all jobs. nil means that every job matches.
	Only func(api.Job) bool
	// AllUsers adds the jobs that belong to other users and that the caller may cancel.
	AllUsers bool
	States   []string // the job states in Slurm's words; none means all
	Lane     *Lane    // the queue that the job is put into; nil means none
	Script   *Script  // the script, if the job's command may be one
	Keeps    bool     // the job runs a copy of its script, since the file may be edited later
	// FromInput is called with the path of the saved script if the script is read from a pipe. It is
	// nil if the script is a file, or there is none.
	FromInput func(path string) error
	Pipe      string // the pipe, such as /dev/fd/63; "" means standard input
	// Strict suppresses messages that the other tool does not print, since programs read the
	// output.
	Strict bool
	// Step is the command that srun runs inside a job, as one step of that job.
	Step     []string
	StepGPUs string // how many of the job's GPUs the step gets; "" means all
	// StepPerTask is the number of GPUs that each task of the step has to itself. 0 means that all
	// tasks share the step's GPUs.
	StepPerTask int
	StepBind    string // which GPUs each task sees, as in --gpu-bind; "" if not given
	// StepOverlaps lets other steps use the same GPUs.
	StepOverlaps bool
	StepLog      string // the file for the step's output, as in --log; "" means the job's output
	StepErrors   string // the file for the step's standard error; "" means the file of its output
	// StepMode is the value of --open-mode: whether StepLog and StepErrors are emptied first.
	StepMode string
	// StepInput is the value of --input: a file, none, or the number of the task that reads the
	// input of the step. "" means that the first task does.
	StepInput  string
	StepLabels bool                       // lines begin with the number of their task
	StepKills  bool                       // a task that fails ends the others
	StepTasks  int                        // copies of Step that run at once; 0 means one for each task of the job
	StepDir    string                     // the working directory; "" means the current one
	StepSet    []string                   // variables for the step, as in --set-env
	Site       func(Machine) []string     // Site returns lines about the machine
	Account    func(caller string) string // Account returns a line about the caller's account

	node   string // the name of the machine, which is the only node
	within string // the id of that job; "" outside of jobs
	inside string // the job of --jobid if it is another one; srun runs its command there

	file       string   // the jobs file, which is added as the last argument
	jobOptions []string // options of submit for each line of the file
}

// A Script is a file that is read before its job is queued.
type Script struct {
	File string
	Read func(text string) error // Read completes the call from the file's text
}

// A tool is another program. gpusched can be called under the tool's name.
type tool struct {
	name, about string
	options     []option
	read        func(c *Call, t tool, args []string) error
	version     string // the output of --version; "" if no programs read the tool's output
}

// Other people's programs look for these versions in the output of --version. The tables in this
// package have the options of these versions.
const (
	slurmVersion   = "slurm 24.05.0"
	spoolerVersion = "Task Spooler v1.0.3"
	flowVersion    = "0.4.15"
)

// tools lists the names under which gpusched can be installed.
var tools = []tool{
	{"sbatch", "gpusched submit", sbatchOptions, readSbatch, slurmVersion},
	{"srun", "gpusched run", srunOptions, readSrun, slurmVersion},
	{"salloc", "gpusched shell", sallocOptions, readSalloc, slurmVersion},
	{"squeue", "gpusched list", new(squeueView).options(), readSqueue, slurmVersion},
	{"scancel", "gpusched cancel", new(scancelView).scancelOptions(), readScancel, slurmVersion},
	{"sacct", "gpusched list -a", new(sacctView).sacctOptions(), readSacct, slurmVersion},
	{"sinfo", "gpusched gpus", new(sinfoView).options(), readSinfo, slurmVersion},
	{"sacctmgr", "which account somebody has", sacctmgrOptions(new(string), new(string)), readSacctmgr, slurmVersion},
	{"seff", "gpusched history -w", nil, readSeff, slurmVersion},
	{"scontrol", "gpusched show, update, hold, release, suspend and resume", nil, readScontrol, slurmVersion},
	{"tsp", "gpusched submit, list, logs, wait and cancel", tspOptions, readTsp, spoolerVersion},
	{"gbatch", "gpusched submit", gbatchOptions, readGbatch, "gbatch " + flowVersion},
	{"gqueue", "gpusched list", gqueueOptions, readPlain("list"), "gqueue " + flowVersion},
	{"gcancel", "gpusched cancel", nil, readPlain("cancel"), "gcancel " + flowVersion},
	{"mgpu_srun", "gpusched submit", mgpuOptions, readMgpu, ""},
	{"mgpu_queue", "gpusched list", nil, readPlain("list"), ""},
	{"mgpu_cancel", "gpusched cancel", nil, readPlain("cancel"), ""},
	{"tgpu", "gpusched submit, list and cancel", tgpuOptions, readTgpu, ""},
	{"cudaq", "gpusched import and list", nil, readVerbs, ""},
	{"cudaq.py", "gpusched, as cudaq", nil, readVerbs, ""},
	{"scheduler.py", "gpusched watch, add, status, screens, gpu pause …", nil, readVerbs, ""},
	{"scheduler_10x.py", "gpusched, as scheduler.py", nil, readVerbs, ""},
}

// Names returns each tool's name and the gpusched command that replaces the tool.
func Names() [][2]string {
	return job.Each(tools, func(t tool) [2]string { return [2]string{t.name, t.about} })
}

// Known reports whether a name belongs to another tool.
func Known(name string) bool {
	return slices.ContainsFunc(tools, func(t tool) bool { return t.name == name })
}

// Translate translates a tool's arguments. The argument jobID is the id of the calling job, or "".
// The argument node is the name of the machine.
func Translate(name string, args []string, jobID, node string) (*Call, error) {
	i := slices.IndexFunc(tools, func(t tool) bool { return t.name == name })
	if i < 0 {
		return nil, fmt.Errorf("%q is not the name of a tool that gpusched knows", name)
	}
	t := tools[i]
	c := &Call{Strict: t.version != "", node: node, within: jobID}
	if c.Strict && len(args) == 1 && (args[0] == "--version" || args[0] == "-V" && !t.has("-V")) {
		return &Call{Help: t.version + "\n"}, nil
	}
	if len(args) > 0 && (args[0] == "--help" || args[0] == "-h" && !t.has("-h")) {
		return &Call{Help: t.help()}, nil
	}
	err := t.read(c, t, args)
	if err == nil && name == "srun" && jobID != "" && c.Words[0] == "run" {
		at := slices.Index(c.Words, "--")
		c.Step = c.Words[at+1:]
		for _, w := range c.Words[:at] {
			switch name, value, _ := strings.Cut(w, "="); name {
			case "--gpus":
				c.StepGPUs = value
			case "--log":
				c.StepLog = value
			case "--error":
				c.StepErrors = value
			case "--chdir":
				c.StepDir = value
			case "--set-env":
				c.StepSet = append(c.StepSet, value)
			}
		}
	}
	return c, err
}

// help returns the text that the tool's --help prints.
func (t tool) help() string {
	if v := verbsOf(t.name); v != nil {
		return fmt.Sprintf("%s here is %s. It has: %s.\n", t.name, t.about, v.names())
	}
	if t.name == "scontrol" {
		return fmt.Sprintf("%s here is %s. It has: %s.\n", t.name, t.about, scontrolVerbs)
	}
	lines, without := t.described(), ""
	if slices.Contains([]string{"sbatch", "srun", "salloc"}, t.name) {
		more, ignored := slurm.Help()
		lines, without = append(lines, more...), ignored
	}
	if len(lines) == 0 {
		lines = []string{"none"}
	}
	text := fmt.Sprintf("%s here is %s. Options:\n", t.name, t.about)
	for _, line := range lines {
		option, about, _ := strings.Cut(line, "\t")
		text += strings.TrimRight(fmt.Sprintf("  %-34s %s", option, about), " ") + "\n"
	}
	if without != "" {
		text += "Ignored here: " + without + "\n"
	}
	return text + "All of them are explained in gpusched(1), OTHER TOOLS' NAMES.\n"
}

func (c *Call) add(words ...string) { c.Words = append(c.Words, words...) }

func (c *Call) note(format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
}

// addCommand adds the job's command to the call.
func (c *Call) addCommand(words []string) error {
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		return errors.New("there is no command to run")
	}
	c.add("--")
	c.add(words...)
	return nil
}

// readPlain returns a reader for a tool whose arguments a gpusched command understands unchanged.
func readPlain(command string) func(*Call, tool, []string) error {
	return func(c *Call, t tool, args []string) error {
		c.add(command)
		rest, err := t.parse(c, args, false)
		if command == "list" && len(rest) > 0 {
			return fmt.Errorf("%s takes no %q", t.name, rest[0])
		}
		if command == "cancel" && len(rest) == 0 && err == nil {
			return errors.New("no job is named")
		}
		c.add(rest...)
		return err
	}
}

// list splits a text at commas outside of brackets.
func list(text string) (words []string) {
	from, inside := 0, false
	for at, r := range text {
		switch {
		case r == '[' || r == ']':
			inside = r == '['
		case r == ',' && !inside:
			words, from = append(words, text[from:at]), at+1
		}
	}
	return slices.DeleteFunc(append(words, text[from:]), func(w string) bool { return w == "" })
}

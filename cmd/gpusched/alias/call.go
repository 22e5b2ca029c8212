package alias

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/api"
)

// A Call is another tool's command line, translated.
type Call struct {
	Words []string // gpusched's command and arguments; none if nothing is left to run
	Notes []string // printed first
	Help  string   // printed instead of anything else
	NoGPU bool     // a job that asks for no GPU gets none

	Submitted string // printed for a queued job, with %d for its id; "" prints what gpusched prints
	Silent    bool   // print nothing for a queued job
	// Table formats jobs as the tool does; nil formats them as gpusched does.
	Table func(jobs []api.Job, now time.Time) []string
	// Check returns an error if the tool would not know the jobs any more; nil checks nothing.
	Check func(jobs []api.Job, now time.Time) error
	// Only reports whether the filters match a job, of those that are named or of all; nil matches
	// all.
	Only func(api.Job) bool
	// AllUsers includes other users' jobs, as far as the caller may cancel them.
	AllUsers bool
	States   []string // the job states in Slurm's words; none means all
	Lane     *Lane    // the queue for the job; nil means none
	Script   *Script  // the script that the command may be
	Keeps    bool     // the job runs a copy of its script, since the file may change
	// FromInput is called with the path to which the script on standard input was saved; nil if
	// there is none.
	FromInput func(path string) error
	// Strict suppresses all messages that the tool would not print, since programs read its output.
	Strict bool
	// Step is the command that srun runs inside a job, as a part of that job.
	Step     []string
	StepGPUs string // the number of the job's GPUs for the step; "" means all
	// StepPerTask is the number of GPUs that each task of the step has to itself; 0 means that all
	// share the step's.
	StepPerTask int
	StepBind    string // the GPUs that each task sees, as in --gpu-bind; "" if not given
	// StepOverlaps allows other steps on the same GPUs.
	StepOverlaps bool
	StepLog      string // the file for its output, as in --log; "" means the job's
	StepErrors   string // the file for its standard error; "" means that of its output
	// StepAppends keeps what is in these files.
	StepAppends bool
	StepTasks   int                        // how often the command runs at once; 0 means once for each task of the job
	StepDir     string                     // the working directory; "" means the current one
	StepSet     []string                   // variables for the step, as in --set-env
	Site        func(Machine) []string     // lines about the machine
	Account     func(caller string) string // a line about an account

	nodes  string // the nodes of the job in which the tool was called
	within string // the id of that job

	file       string   // the jobs file, which becomes the last argument
	jobOptions []string // options of submit for each line of the file
}

// A Script is a file that is read before a job is queued.
type Script struct {
	File string
	Read func(text string) error // completes the call from the file's text
}

// A tool is another program, whose name gpusched can be called by.
type tool struct {
	name, about string
	options     []option
	read        func(c *Call, t tool, args []string) error
	version     string // printed for --version; "" if no programs read the tool's output
}

// The versions that wrappers look for. Their options are in the tables here.
const (
	slurmVersion   = "slurm 24.05.0"
	spoolerVersion = "Task Spooler v1.0.3"
	flowVersion    = "0.4.15"
)

// tools are the names that can be installed.
var tools = []tool{
	{"sbatch", "gpusched submit", sbatchOptions, readSbatch, slurmVersion},
	{"srun", "gpusched run", srunOptions, readSrun, slurmVersion},
	{"salloc", "gpusched shell", sallocOptions, readSalloc, slurmVersion},
	{"squeue", "gpusched list", squeueOptions, readSqueue, slurmVersion},
	{"scancel", "gpusched cancel", scancelOptions, readScancel, slurmVersion},
	{"sacct", "gpusched list -a", sacctOptions, readSacct, slurmVersion},
	{"sinfo", "gpusched gpus", sinfoOptions, readSinfo, slurmVersion},
	{"sacctmgr", "which account somebody has", sacctmgrOptions, readSacctmgr, slurmVersion},
	{"scontrol", "gpusched hold, release, suspend and resume", scontrolOptions, readScontrol, slurmVersion},
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

// Names returns each name and what it stands for here.
func Names() (list [][2]string) {
	for _, t := range tools {
		list = append(list, [2]string{t.name, t.about})
	}
	return list
}

// Known reports whether a name is that of another tool.
func Known(name string) bool {
	return slices.ContainsFunc(tools, func(t tool) bool { return t.name == name })
}

// Translate translates the arguments of a tool. within is the id of the job in which it was called,
// or "".
func Translate(name string, args []string, within string) (*Call, error) {
	i := slices.IndexFunc(tools, func(t tool) bool { return t.name == name })
	if i < 0 {
		return nil, fmt.Errorf("%q is not the name of a tool that gpusched knows", name)
	}
	t := tools[i]
	c := &Call{Strict: t.version != "", nodes: "localhost", within: within}
	if c.Strict && len(args) == 1 && (args[0] == "--version" || args[0] == "-V" && !t.has("-V")) {
		return &Call{Help: t.version + "\n"}, nil
	}
	if len(args) > 0 && (args[0] == "--help" || args[0] == "-h" && !t.has("-h")) {
		return &Call{Help: t.help()}, nil
	}
	err := t.read(c, t, args)
	if err == nil && name == "srun" && within != "" {
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
		own := strings.Join(args[:len(args)-len(c.Step)], "=")
		c.StepAppends = strings.Contains("="+own+"=", "=--open-mode=append=")
	}
	return c, err
}

// help returns the text for --help.
func (t tool) help() string {
	if v := verbsOf(t.name); v != nil {
		return fmt.Sprintf("%s here is %s. It has: %s.\n", t.name, t.about, v.names())
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

// command adds the job's command.
func (c *Call) command(words []string) error {
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

// readPlain returns a reader for a tool whose arguments are the same for a gpusched command.
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

// list splits text at commas.
func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
}

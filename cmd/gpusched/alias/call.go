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

// Call is what a command line of another tool is here.
type Call struct {
	Words []string // of gpusched, its command first; none where all is said
	Notes []string // what is to be said before
	Help  string   // what was asked for instead of anything else
	NoGPU bool     // a job that names no GPU gets none

	Submitted string // what is printed of a job that was queued, with %d for its number; "" is as here
	Silent    bool   // nothing is printed of it
	// Table makes the lines for jobs, in the tool's form; nil is the form here.
	Table func(jobs []api.Job, now time.Time) []string
	// Check refuses jobs that the tool would not know any more; nil refuses none.
	Check func(jobs []api.Job, now time.Time) error
	// Only are the jobs that filters leave of those that are named, or of all; nil leaves all.
	Only func(api.Job) bool
	// Everybodys is that jobs of all users may be meant, as far as the caller may end them.
	Everybodys bool
	States     []string // of Slurm, that are meant; none: all
	Lane       *Lane    // the queue that the job is put in; nil is none
	Script     *Script  // the file that may be the command
	Keeps      bool     // the job runs a copy of its script, as the file may change
	// FromInput is told where the script is that stands in the standard input; nil: there is none.
	FromInput func(path string) error
	// Strict is that nothing is said that the tool would not say: programs read what it prints.
	Strict bool
	// Step is a command of srun within a job: it is a part of that job.
	Step     []string
	StepGPUs string // how many of the GPUs of the job it asks; "": all
	// StepPerTask is how many GPUs each of its tasks has to itself; 0: all have those of the step.
	StepPerTask int
	StepBind    string // which of them each task sees, as --gpu-bind has it; "": not said
	// StepOverlaps is that other steps may have the same GPUs.
	StepOverlaps bool
	StepLog      string // the file of its output, as --log has it; "": that of the job
	StepErrors   string // the file of its standard error; "": where its output goes
	// StepAppends is that the files are not emptied first.
	StepAppends bool
	StepTasks   int                        // how many times the command runs at once; 0: as often as the job has tasks
	StepDir     string                     // where; "": here
	StepSet     []string                   // variables that it has, as --set-env has them
	Site        func(Machine) []string     // lines about the machine
	Account     func(caller string) string // a line about an account

	nodes  string // those of the job in which it was called
	within string // the number of that job

	file    string   // of jobs, where it comes last
	ofLines []string // options of submit for each of its lines
}

// Script is a file that is read before a job is queued.
type Script struct {
	File string
	Read func(text string) error // is told what is in it, and completes the call
}

// tool is one that is known by its name.
type tool struct {
	name, about string
	options     []option
	read        func(c *Call, t tool, args []string) error
	version     string // what it answers to --version; "" where programs do not read what it prints
}

// What wrappers look for: the versions whose options these tables have.
const (
	ofSlurm   = "slurm 24.05.0"
	ofSpooler = "Task Spooler v1.0.3"
	ofFlow    = "0.4.15"
)

// tools are the names that can be installed.
var tools = []tool{
	{"sbatch", "gpusched submit", sbatchOptions, readSbatch, ofSlurm},
	{"srun", "gpusched run", srunOptions, readSrun, ofSlurm},
	{"salloc", "gpusched shell", sallocOptions, readSalloc, ofSlurm},
	{"squeue", "gpusched list", squeueOptions, readSqueue, ofSlurm},
	{"scancel", "gpusched cancel", scancelOptions, readScancel, ofSlurm},
	{"sacct", "gpusched list -a", sacctOptions, readSacct, ofSlurm},
	{"sinfo", "gpusched gpus", sinfoOptions, readSinfo, ofSlurm},
	{"sacctmgr", "which account somebody has", sacctmgrOptions, readSacctmgr, ofSlurm},
	{"scontrol", "gpusched hold, release, suspend and resume", scontrolOptions, readScontrol, ofSlurm},
	{"tsp", "gpusched submit, list, logs, wait and cancel", tspOptions, readTsp, ofSpooler},
	{"gbatch", "gpusched submit", gbatchOptions, readGbatch, "gbatch " + ofFlow},
	{"gqueue", "gpusched list", gqueueOptions, readPlain("list"), "gqueue " + ofFlow},
	{"gcancel", "gpusched cancel", nil, readPlain("cancel"), "gcancel " + ofFlow},
	{"mgpu_srun", "gpusched submit", mgpuOptions, readMgpu, ""},
	{"mgpu_queue", "gpusched list", nil, readPlain("list"), ""},
	{"mgpu_cancel", "gpusched cancel", nil, readPlain("cancel"), ""},
	{"tgpu", "gpusched submit, list and cancel", tgpuOptions, readTgpu, ""},
	{"cudaq", "gpusched import and list", nil, readVerbs, ""},
	{"cudaq.py", "gpusched, as cudaq", nil, readVerbs, ""},
	{"scheduler.py", "gpusched watch, add, status, screens, gpu pause …", nil, readVerbs, ""},
	{"scheduler_10x.py", "gpusched, as scheduler.py", nil, readVerbs, ""},
}

// Names are all names, and what each leads to.
func Names() (list [][2]string) {
	for _, t := range tools {
		list = append(list, [2]string{t.name, t.about})
	}
	return list
}

// Known reports whether a name is one of another tool.
func Known(name string) bool {
	return slices.ContainsFunc(tools, func(t tool) bool { return t.name == name })
}

// Translate reads the words after a tool's name. Within is the number of the job in
// which it is called, "" outside of one.
func Translate(name string, args []string, within string) (*Call, error) {
	i := slices.IndexFunc(tools, func(t tool) bool { return t.name == name })
	if i < 0 {
		return nil, fmt.Errorf("%q is not the name of another tool that is known here", name)
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

// help says what the name takes.
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

// command puts in the job's command.
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

// readPlain is a tool whose words are those of a command here.
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

// list splits what has commas.
func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
}

package alias

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

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
	// Step is a command of srun within a job: it is a part of that job.
	Step []string

	file    string   // of jobs, where it comes last
	ofLines []string // options of submit for each of its lines
}

// tool is one that is known by its name.
type tool struct {
	name, about string
	options     []option
	read        func(c *Call, t tool, args []string) error
}

// tools are the names that can be installed.
var tools = []tool{
	{"sbatch", "gpusched submit", sbatchOptions, readSbatch},
	{"srun", "gpusched run", srunOptions, readSrun},
	{"salloc", "gpusched shell", sallocOptions, readSalloc},
	{"squeue", "gpusched list", squeueOptions, readSqueue},
	{"scancel", "gpusched cancel", scancelOptions, readScancel},
	{"sacct", "gpusched list -a", sacctOptions, readSacct},
	{"sinfo", "gpusched gpus", sinfoOptions, readSinfo},
	{"tsp", "gpusched submit, list, logs, wait and cancel", tspOptions, readTsp},
	{"gbatch", "gpusched submit", gbatchOptions, readGbatch},
	{"gqueue", "gpusched list", gqueueOptions, readPlain("list")},
	{"gcancel", "gpusched cancel", nil, readPlain("cancel")},
	{"mgpu_srun", "gpusched submit", mgpuOptions, readMgpu},
	{"mgpu_queue", "gpusched list", nil, readPlain("list")},
	{"mgpu_cancel", "gpusched cancel", nil, readPlain("cancel")},
	{"tgpu", "gpusched submit, list and cancel", tgpuOptions, readTgpu},
	{"cudaq", "gpusched import and list", nil, readVerbs},
	{"cudaq.py", "gpusched, as cudaq", nil, readVerbs},
	{"scheduler.py", "gpusched watch, add, status, screens, gpu pause …", nil, readVerbs},
	{"scheduler_10x.py", "gpusched, as scheduler.py", nil, readVerbs},
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
	t, c := tools[i], &Call{}
	if len(args) > 0 && (args[0] == "--help" || args[0] == "-h" && !t.has("-h")) {
		return &Call{Help: t.help()}, nil
	}
	err := t.read(c, t, args)
	if err == nil && name == "srun" && within != "" {
		c.Step = c.Words[slices.Index(c.Words, "--")+1:]
	}
	return c, err
}

// help says what the name takes.
func (t tool) help() string {
	if v := verbsOf(t.name); v != nil {
		return fmt.Sprintf("%s here is %s. It has: %s.\n", t.name, t.about, v.names())
	}
	text := fmt.Sprintf("%s here is %s. Options:\n", t.name, t.about)
	for _, line := range t.known() {
		text += "  " + line + "\n"
	}
	if len(t.known()) == 0 {
		text += "  none\n"
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

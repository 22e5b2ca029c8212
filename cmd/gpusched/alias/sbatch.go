package alias

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
)

const submittedBatch = "Submitted batch job %d\n"

// sbatchOptions are the options that only sbatch's command line can have. Package slurm has the
// options that #SBATCH lines can have, too.
var sbatchOptions = []option{
	{"--wrap", true, nil}, // read by readSbatch
	{"--parsable", false, func(c *Call, _ string) error { c.Submitted = "%d\n"; return nil }},
	{"-W --wait", false, flagged("--wait")},
	{"--test-only", false, flagged("--dry-run")},
	{"-Q --quiet", false, func(c *Call, _ string) error { c.Silent = true; return nil }},
}

// srunOptions are the options that only srun has.
var srunOptions = []option{
	{"--pty", false, flagged("--tty")},
	{"-u --unbuffered", false, ignore},
	{"-l --label", false, func(c *Call, _ string) error {
		if c.StepLabels = true; c.within == "" {
			return errors.New("lines have a label only inside a job: start the job with sbatch, and srun -l in its script")
		}
		return nil
	}},
	{"-Q --quiet", false, flagged("--quiet")},
	{"-W --wait", true, ignore}, // how long to wait for the other tasks once one has ended
	{"--overlap", false, func(c *Call, _ string) error { c.StepOverlaps = true; return nil }},
	{"--exact", false, ignore},
	{"--jobid", true, func(c *Call, id string) error {
		if id != c.within {
			c.inside = id
		}
		return nil
	}},
	{"--mpi", true, func(_ *Call, kind string) error {
		if kind != "none" {
			return errors.New("no MPI is started here: start mpirun or torchrun as the command")
		}
		return nil
	}},
	{"--multi-prog", false, refused("let a script choose by $SLURM_PROCID: srun -n 2 ./choose.sh")},
	{"-I --immediate", false, refused("it waits its turn here: Ctrl-C leaves it, 'gpusched cancel' ends it")},
}

func readSbatch(c *Call, t tool, args []string) error {
	c.NoGPU, c.Submitted, c.Log = true, submittedBatch, "slurm-%j.out"
	wrap := ""
	t.options = append([]option{{"--wrap", true, func(_ *Call, text string) error { wrap = text; return nil }}}, t.options[1:]...)
	c.add("submit", "--compat=slurm")
	rest, err := readBatch(c, t, args)
	switch {
	case err != nil:
		return err
	case wrap != "" && len(rest) > 0:
		return errors.New("there is a script and --wrap: use only one")
	case wrap != "":
		c.Words = append([]string{"submit", "--name=wrap"}, c.Words[1:]...)
		return c.addCommand([]string{"/bin/sh", "-c", wrap})
	case len(rest) == 0 || rest[0] == "/dev/stdin" || strings.HasPrefix(rest[0], "/dev/fd/"):
		c.Keeps = true
		if len(rest) > 0 {
			c.Pipe = rest[0]
		}
		c.FromInput = func(path string) error { return c.addCommand(append([]string{path}, rest[min(1, len(rest)):]...)) }
		return nil
	case !strings.Contains(rest[0], "/"):
		rest = append([]string{"./" + rest[0]}, rest[1:]...)
	}
	c.Keeps = true
	return c.addCommand(rest)
}

func readSrun(c *Call, t tool, args []string) error {
	c.NoGPU = true
	c.add("run", "--compat=slurm")
	rest, err := readBatch(c, t, args)
	if at := slices.Index(rest, ":"); err == nil && at > 0 && at < len(rest)-1 {
		err = errors.New(`":" begins another component, and a job here has only one`)
	}
	if err == nil && c.inside != "" {
		return c.execInside(rest)
	}
	if err == nil && c.StepTasks > 1 && c.within == "" {
		err = fmt.Errorf("-n: a new job here is one task, not %d (--cpus-per-task gives it more CPUs)", c.StepTasks)
	}
	if err != nil {
		return err
	}
	return c.addCommand(rest)
}

// execInside makes the call run the command in another job, as srun --jobid does.
func (c *Call) execInside(command []string) error {
	if c.StepTasks > 1 {
		return fmt.Errorf("--jobid: the command runs once, not %d times", c.StepTasks)
	}
	for _, w := range c.Words[1:] {
		if !slices.Contains([]string{"--compat=slurm", "--tty", "--quiet", "--gpus=0", slurm.OneTask}, w) {
			name, _, _ := strings.Cut(w, "=")
			return fmt.Errorf("--jobid: the command runs beside job %s, on all of its GPUs: %s can't be set", c.inside, name)
		}
	}
	c.Words = []string{"exec", jobName(c.inside)}
	return c.addCommand(command)
}

// sallocOptions are the options that only salloc has.
var sallocOptions = []option{
	{"-Q --quiet", false, flagged("--quiet")},
	{"--no-shell", false, refused("there is no job without a command here")},
	{"-I --immediate", false, refused("it waits its turn here: Ctrl-C leaves it, 'gpusched cancel' ends it")},
}

func readSalloc(c *Call, t tool, args []string) error {
	c.NoGPU = true
	c.add("shell", "--compat=slurm")
	rest, err := readBatch(c, t, args)
	if err != nil || len(rest) == 0 {
		return err
	}
	return c.addCommand(rest)
}

// readBatch reads sbatch's options and returns the words that follow them.
func readBatch(c *Call, t tool, args []string) ([]string, error) {
	b := slurm.Batch{Node: c.node, Step: t.name == "srun" && c.within != ""}
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && args[0] != "--" {
		name, _, _ := strings.Cut(args[0], "=")
		var err error
		if t.has(name) || args[0][1] != '-' && t.has(args[0][:2]) {
			args, err = t.parseOption(c, args)
		} else {
			args, err = b.Next(args)
		}
		var unknown slurm.Unknown
		if errors.As(err, &unknown) {
			return nil, t.unknownOption(string(unknown))
		}
		if err != nil {
			return nil, err
		}
	}
	words, err := b.Words()
	c.StepTasks, c.StepPerTask, c.StepBind = b.TasksAsked(), b.GPUsPerTask(), b.Bind()
	c.StepMode, c.StepInput, c.StepKills = b.OpenMode(), b.Input(), b.Kills()
	c.add(words...)
	c.Notes = append(c.Notes, b.Notes()...)
	if list := b.Ignored(); len(list) > 0 {
		c.note("ignored here: %s", strings.Join(list, ", "))
	}
	return args, err
}

package alias

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
)

// tspOptions are those of task-spooler, as ts(1) has them, and of its kin with GPUs.
var tspOptions = []option{
	{"-l", false, action("list")}, {"-c", false, action("logs")}, {"-t", false, action("logs", "-f")},
	{"-w", false, action("wait")}, {"-k", false, action("cancel")}, {"-r", false, action("cancel")},
	{"-i", false, action("show")}, {"-s", false, action("list")},
	{"-f", false, action("run")},
	{"-L", true, as("name")}, {"-G", true, as("gpus")}, {"-D", true, as("after-any")}, {"-W", true, as("after-ok")},
	{"-d", false, flagged("--after-ok=@")},
	{"-n", false, left("-n", "output is kept in the journal")},
	{"-B", false, refused("a queue that is full is an error here, which can be tried again")},
	{"-N", true, refused("there are no slots here: a job asks for CPUs with 'gpusched submit -c N'")},
	{"-E", false, left("-E", "the two outputs are kept as one")},
	{"-m", false, func(c *Call, _ string) error {
		c.add("--notify=mail:end")
		c.note("-m: the mail says how the job ended, and not what it printed ('gpusched logs')")
		return nil
	}},
	{"-o", false, refused("output is in the journal, not in a file: 'gpusched logs ID'")},
	{"-p", false, refused("a job is a unit: 'systemctl status gpujob-ID.service' has its processes")},
	{"-u", false, refused("the order is by priority: 'gpusched update --priority P ID'")},
	{"-U", true, refused("the order is by priority: 'gpusched update --priority P ID'")},
	{"-C", false, refused("what has ended is not in the list, and is kept for 'gpusched list -a'")},
	{"-K", false, refused("the scheduler is a service of the machine: 'gpusched cancel --mine' ends your jobs")},
	{"-S", true, refused("there are no slots here, as jobs start when their GPUs, memory and CPUs are free")},
}

// action is an option of tsp that is a command here.
func action(words ...string) func(*Call, string) error {
	return func(c *Call, _ string) error {
		if len(c.Words) > 0 && !strings.HasPrefix(c.Words[0], "--") {
			return errors.New("one thing at a time")
		}
		c.Words = append(words[:len(words):len(words)], c.Words...)
		return nil
	}
}

func readTsp(c *Call, t tool, args []string) error {
	if len(args) == 0 {
		c.add("list")
		return nil
	}
	if slots, ok := strings.CutPrefix(args[0], "-S"); ok {
		if len(args) > 1 || slots != "" {
			c.note("-S is left out: there are no slots here, as jobs start when their GPUs, memory and CPUs are free")
			return nil
		}
		return errors.New("-S: there are no slots here, as jobs start when their GPUs, memory and CPUs are free")
	}
	rest, err := t.parse(c, args, true)
	if err != nil {
		return err
	}
	switch {
	case len(c.Words) == 0 || strings.HasPrefix(c.Words[0], "--"):
		c.Words, c.Submitted = append([]string{"submit"}, c.Words...), "%d\n"
		return c.command(rest)
	case c.Words[0] == "run":
		return c.command(rest)
	case c.Words[0] == "cancel" && len(rest) == 0:
		rest = []string{"@"}
	}
	for _, id := range rest {
		if strings.HasPrefix(id, "-") {
			return fmt.Errorf("%q is not a job", id)
		}
	}
	c.add(rest...)
	return nil
}

// gbatchOptions are those of gflow 0.4.
var gbatchOptions = []option{
	{"--gpus", true, as("gpus")},
	{"--time", true, flowTime},
	{"--memory --max-mem --max-memory", true, as("mem")},
	{"--gpu-memory --max-gpu-mem --max-gpu-memory", true, as("gpu-mem")},
	{"--name -J --job-name", true, as("name")},
	{"--conda-env", true, as("conda")},
	{"--depends-on --depends-on-all", true, as("after-ok")},
	{"--array", true, as("array")},
	{"--param", true, as("param")},
	{"--max-concurrent", true, func(c *Call, n string) error { c.add("--array=%" + n); return nil }},
	{"--max-retries", true, as("retries")},
	{"--dry-run", false, flagged("--dry-run")},
	{"--project", true, func(c *Call, code string) error { c.add("--tag=project=" + code); return nil }},
	{"--priority", true, refused("it has another scale there: 'gpusched submit -p low', normal or high")},
	{"--shared", false, refused("say which part of a GPU: 'gpusched submit -g 0.5'")},
	{"--depends-on-any", true, refused("a job waits for all that it names: 'gpusched submit --after-any'")},
}

// flowTime reads a time of gflow: minutes alone, else as everywhere.
func flowTime(c *Call, text string) error {
	d, err := slurm.Minutes(text)
	if err == nil {
		c.add("--time=" + strconv.Itoa(int(d.Seconds())) + "s")
	}
	return err
}

func readGbatch(c *Call, t tool, args []string) error {
	c.NoGPU, c.Submitted = true, submittedBatch
	c.add("submit")
	rest, err := t.parse(c, args, true)
	if err != nil {
		return err
	}
	if text := strings.Join(c.Words, " "); strings.Count(text, "--array=") > 1 {
		return errors.New("--max-concurrent is for --param: an array has its limit in it, --array 1-10%2")
	}
	return c.command(rest)
}

var gqueueOptions = []option{
	{"-a --all", false, flagged("--all")},
	{"-u --user", true, as("user")},
	{"-s --state", true, func(c *Call, state string) error { c.add("--state=" + strings.ToLower(state)); return nil }},
	{"-n --name", true, as("name")},
	{"-f --format", true, refused("the columns are fixed: 'gpusched list -o csv' has all")},
	{"-t --tree", false, refused("'gpusched show ID' has what a job waits for")},
}

// mgpuOptions are those of mgpu_srun.
var mgpuOptions = []option{
	{"--gpu-ids", true, as("gpu-ids")},
	{"--mem", true, func(c *Call, mega string) error {
		if _, err := strconv.ParseUint(mega, 10, 32); err != nil {
			return fmt.Errorf("%q is not a number of MB", mega)
		}
		c.add("--gpu-mem=" + mega + "M")
		return nil
	}},
	{"--time-limit", true, as("time")},
	{"--priority", true, as("priority")},
	{"--env-setup-cmd", true, as("setup")},
	{"--interactive", false, func(c *Call, _ string) error { c.Words[0] = "run"; return nil }},
}

func readMgpu(c *Call, t tool, args []string) error {
	c.add("submit")
	rest, err := t.parse(c, args, true)
	if err != nil {
		return err
	}
	return c.command(rest)
}

// tgpuOptions are those of tgpu submit.
var tgpuOptions = []option{
	{"--gpus", true, as("gpus")},
	{"--priority", true, as("priority")},
}

func readTgpu(c *Call, t tool, args []string) error {
	if len(args) == 0 {
		return errors.New("say tgpu submit, tgpu list or tgpu cancel ID")
	}
	switch verb := args[0]; verb {
	case "list":
		return readPlain("list")(c, tool{name: "tgpu list"}, args[1:])
	case "cancel":
		return readPlain("cancel")(c, tool{name: "tgpu cancel"}, args[1:])
	case "submit":
		c.add(verb)
	default:
		return fmt.Errorf("tgpu has no %q here: it has submit, list and cancel", verb)
	}
	rest, err := t.parse(c, args[1:], true)
	if err != nil {
		return err
	}
	if len(rest) == 1 && strings.HasPrefix(rest[0], "cmd=") {
		rest = []string{"/bin/sh", "-c", strings.TrimPrefix(rest[0], "cmd=")}
		c.add("--name=cmd")
	}
	return c.command(rest)
}

package alias

import (
	"errors"
	"fmt"
	"strings"
)

// verbs maps the names of a tool's subcommands to their options.
type verbs map[string]tool

// read reads a subcommand and its arguments.
func (v verbs) read(c *Call, t tool, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("say what: %s", v.names())
	}
	verb, found := v[args[0]]
	if !found {
		return fmt.Errorf("%s has no %q here: it has %s", t.name, args[0], v.names())
	}
	verb.name = t.name + " " + args[0]
	return verb.read(c, verb, args[1:])
}

func (v verbs) names() string {
	var list []string
	for _, name := range verbOrder {
		if _, has := v[name]; has {
			list = append(list, name)
		}
	}
	return strings.Join(list, ", ")
}

// verbsOf returns a tool's subcommands, or nil if it has none.
func verbsOf(tool string) verbs {
	switch tool {
	case "cudaq", "cudaq.py":
		return cudaqVerbs
	case "scheduler.py", "scheduler_10x.py":
		return schedulerVerbs
	}
	return nil
}

// readVerbs reads the arguments of a tool with subcommands.
func readVerbs(c *Call, t tool, args []string) error { return verbsOf(t.name).read(c, t, args) }

// verbOrder is the order in which messages list subcommands.
var verbOrder = []string{
	"run", "start", "add", "status", "list-jobs", "cancel-job", "screens",
	"pause", "resume", "pause-gpu", "resume-gpu", "health", "config-sample", "test",
}

var cudaqVerbs = verbs{
	"run": {options: []option{
		{"--commands-file", true, fileOf("commands")},
		{"--config", true, fileOf("settings")},
		{"--min-free-mem-mb", true, jobOption("gpu-mem", "M")},
	}, read: readCudaqRun},
	"status": {read: readWords("list", "--all", "--mine")},
}

// fileOf returns the reader of an option that names the file to import.
func fileOf(format string) func(*Call, string) error {
	return func(c *Call, file string) error {
		if c.Words[len(c.Words)-1] != "import" {
			return errors.New("one file at a time")
		}
		c.add("--format="+format, file)
		return nil
	}
}

// jobOption returns the reader of an option that applies to each job of a file.
func jobOption(name, unit string) func(*Call, string) error {
	return func(c *Call, value string) error {
		c.jobOptions = append(c.jobOptions, "--"+name+"="+value+unit)
		return nil
	}
}

func readCudaqRun(c *Call, t tool, args []string) error {
	c.add("import")
	rest, err := t.parse(c, args, false)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return fmt.Errorf("%s takes no %q", t.name, rest[0])
	case len(c.Words) == 1:
		return errors.New("say --commands-file FILE")
	case c.Words[1] == "--format=settings" && len(c.jobOptions) > 0:
		return errors.New("--min-free-mem-mb is for --commands-file: it becomes --gpu-mem of each job")
	}
	if c.Words[1] == "--format=settings" {
		c.note("the settings are translated; its jobs are those of its commands file: 'cudaq run --commands-file FILE'")
	}
	c.addJobOptions()
	return nil
}

func (c *Call) addJobOptions() {
	if len(c.jobOptions) > 0 {
		c.add("--")
		c.add(c.jobOptions...)
	}
}

var schedulerVerbs = verbs{
	"start":         {options: startOptions, read: readStart},
	"add":           {options: addOptions, read: readAdd},
	"status":        {options: statusOptions, read: readPlain("status")},
	"list-jobs":     {options: []option{{"--status", true, renamed("state")}}, read: readWords("list", "--all")},
	"cancel-job":    {read: readPlain("cancel")},
	"screens":       {read: readWords("screens")},
	"pause":         {read: readGPU("pause")},
	"resume":        {read: readGPU("resume")},
	"pause-gpu":     {read: readGPU("pause")},
	"resume-gpu":    {read: readGPU("resume")},
	"health":        {read: readWords("health")},
	"config-sample": {read: readWords("config", "sample")},
	"test":          {options: []option{{"--quick", false, ignore}}, read: readWords("doctor")},
}

var statusOptions = []option{
	{"--json", false, flagged("--json")},
	{"--detailed", false, flagged("--detailed")},
	{"--watch", false, flagged("--watch")},
}

var addOptions = []option{
	{"--conda", true, renamed("conda")}, {"--args", true, renamed("args")}, {"--priority", true, renamed("priority")}, {"--gpus", true, renamed("gpus")},
	{"--output-file", true, renamed("output-file")},
}

const serviceHint = "the scheduler is a service of the machine, which has its own settings"

var startOptions = []option{
	{"--jobs-file", true, func(c *Call, file string) error { c.file = file; return nil }},
	{"--screen", false, func(c *Call, _ string) error { c.jobOptions = append(c.jobOptions, "--screen"); return nil }},
	{"--llm-config", true, jobOption("llm-config", "")},
	{"--mem-threshold", true, jobOption("max-used", "")},
	{"--load-threshold", true, jobOption("max-load", "")},
	{"--monitor-interval", true, func(c *Call, seconds string) error { c.add("--interval=" + seconds + "s"); return nil }},
	{"--gpus", true, ignored("--gpus", serviceHint)},
	{"--config", true, ignored("--config", serviceHint+": 'gpusched import FILE' translates these")},
	{"--state-file", true, ignored("--state-file", serviceHint)},
	{"--state-interval", true, ignored("--state-interval", serviceHint)},
	{"--max-assign-attempts", true, ignored("--max-assign-attempts", "a job waits until it can start")},
	{"--assign-retry-wait", true, ignored("--assign-retry-wait", "a job waits until it can start")},
	{"--log-level", true, ignored("--log-level", serviceHint)},
	{"--daemon", false, refused("use 'systemctl --user start gpusched-watch@FILE' to watch the jobs file in the background")},
}

// readStart turns the call into a watch of the jobs file. It starts no scheduler, since gpusched
// runs already.
func readStart(c *Call, t tool, args []string) error {
	c.add("watch", "--format=columns")
	c.file = "jobs.txt"
	err := t.parseOnly(c, args, t.name+" takes no %q")
	c.add(c.file)
	c.addJobOptions()
	return err
}

func readAdd(c *Call, t tool, args []string) error {
	c.add("add")
	rest, err := t.parse(c, args, false)
	c.add(rest...)
	return err
}

// readWords returns the reader of a subcommand that takes options only. The subcommand becomes the
// given words.
func readWords(words ...string) func(*Call, tool, []string) error {
	return func(c *Call, t tool, args []string) error {
		c.add(words...)
		return t.parseOnly(c, args, t.name+" takes no %q")
	}
}

func readGPU(verb string) func(*Call, tool, []string) error {
	return func(c *Call, t tool, args []string) error {
		if len(args) == 0 {
			return errors.New("say which GPU")
		}
		c.add("gpu", verb)
		rest, err := t.parse(c, args, false)
		c.add(rest...)
		return err
	}
}

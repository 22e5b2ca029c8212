package alias

import (
	"errors"
	"fmt"
	"strings"
)

// verbs are the commands of a tool that has several.
type verbs map[string]tool

// read reads the verb and what follows it.
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

// verbsOf are those of the tools that have some.
func verbsOf(tool string) verbs {
	switch tool {
	case "cudaq", "cudaq.py":
		return cudaqVerbs
	case "scheduler.py", "scheduler_10x.py":
		return schedulerVerbs
	}
	return nil
}

// readVerbs reads the words of a tool that has verbs.
func readVerbs(c *Call, t tool, args []string) error { return verbsOf(t.name).read(c, t, args) }

// verbOrder is the order in which verbs are named.
var verbOrder = []string{
	"run", "start", "add", "status", "list-jobs", "cancel-job", "screens",
	"pause", "resume", "pause-gpu", "resume-gpu", "health", "config-sample", "test",
}

// cudaqVerbs are those of cudaq.
var cudaqVerbs = verbs{
	"run": {options: []option{
		{"--commands-file", true, fileOf("commands")},
		{"--config", true, fileOf("settings")},
		{"--min-free-mem-mb", true, eachLine("gpu-mem", "M")},
	}, read: readCudaqRun},
	"status": {read: readWords("list", "--all", "--mine")},
}

// fileOf is an option that names the file.
func fileOf(format string) func(*Call, string) error {
	return func(c *Call, file string) error {
		if c.Words[len(c.Words)-1] != "import" {
			return errors.New("one file at a time")
		}
		c.add("--format="+format, file)
		return nil
	}
}

// eachLine is an option of the jobs that become of a file.
func eachLine(name, unit string) func(*Call, string) error {
	return func(c *Call, value string) error {
		c.ofLines = append(c.ofLines, "--"+name+"="+value+unit)
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
	case c.Words[1] == "--format=settings" && len(c.ofLines) > 0:
		return errors.New("--min-free-mem-mb is for --commands-file: it becomes --gpu-mem of each job")
	}
	if c.Words[1] == "--format=settings" {
		c.note("the settings are translated; its jobs are those of its commands file: 'cudaq run --commands-file FILE'")
	}
	c.addOfLines()
	return nil
}

func (c *Call) addOfLines() {
	if len(c.ofLines) > 0 {
		c.add("--")
		c.add(c.ofLines...)
	}
}

// schedulerVerbs are those of scheduler.py and scheduler_10x.py.
var schedulerVerbs = verbs{
	"start":         {options: startOptions, read: readStart},
	"add":           {options: addOptions, read: readAdd},
	"status":        {options: statusOptions, read: readPlain("status")},
	"list-jobs":     {options: []option{{"--status", true, as("state")}}, read: readWords("list", "--all")},
	"cancel-job":    {read: readPlain("cancel")},
	"screens":       {read: readWords("screens")},
	"pause":         {read: readGPU("pause")},
	"resume":        {read: readGPU("resume")},
	"pause-gpu":     {read: readGPU("pause")},
	"resume-gpu":    {read: readGPU("resume")},
	"health":        {read: readWords("health")},
	"config-sample": {read: readWords("config", "sample")},
	"test":          {options: []option{{"--quick", false, nothing}}, read: readWords("doctor")},
}

var statusOptions = []option{
	{"--json", false, flagged("--json")},
	{"--detailed", false, flagged("--detailed")},
	{"--watch", false, flagged("--watch")},
}

var addOptions = []option{
	{"--conda", true, as("conda")}, {"--args", true, as("args")}, {"--priority", true, as("priority")}, {"--gpus", true, as("gpus")},
	{"--output-file", true, as("output-file")},
}

const ofService = "the scheduler is a service of the machine, which has its own settings"

var startOptions = []option{
	{"--jobs-file", true, func(c *Call, file string) error { c.file = file; return nil }},
	{"--screen", false, func(c *Call, _ string) error { c.ofLines = append(c.ofLines, "--screen"); return nil }},
	{"--llm-config", true, eachLine("llm-config", "")},
	{"--mem-threshold", true, eachLine("max-used", "")},
	{"--load-threshold", true, eachLine("max-load", "")},
	{"--monitor-interval", true, func(c *Call, seconds string) error { c.add("--interval=" + seconds + "s"); return nil }},
	{"--gpus", true, left("--gpus", ofService)},
	{"--config", true, left("--config", ofService+": 'gpusched import FILE' translates these")},
	{"--state-file", true, left("--state-file", ofService)},
	{"--state-interval", true, left("--state-interval", ofService)},
	{"--max-assign-attempts", true, left("--max-assign-attempts", "a job waits until it can start")},
	{"--assign-retry-wait", true, left("--assign-retry-wait", "a job waits until it can start")},
	{"--log-level", true, left("--log-level", ofService)},
	{"--daemon", false, refused("this watches the jobs file: 'systemctl --user start gpusched-watch@FILE' does so in the background")},
}

// readStart is to watch the jobs file: the scheduler itself runs already.
func readStart(c *Call, t tool, args []string) error {
	c.add("watch", "--format=columns")
	c.file = "jobs.txt"
	rest, err := t.parse(c, args, false)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%s takes no %q", t.name, rest[0])
	}
	c.add(c.file)
	c.addOfLines()
	return err
}

func readAdd(c *Call, t tool, args []string) error {
	c.add("add")
	rest, err := t.parse(c, args, false)
	c.add(rest...)
	return err
}

// readWords is a verb that is these words here, and takes nothing but its options.
func readWords(words ...string) func(*Call, tool, []string) error {
	return func(c *Call, t tool, args []string) error {
		c.add(words...)
		rest, err := t.parse(c, args, false)
		if err == nil && len(rest) > 0 {
			err = fmt.Errorf("%s takes no %q", t.name, rest[0])
		}
		return err
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

package alias

import (
	"errors"
	"strings"
)

var scancelOptions = []option{
	{"-u --user", true, as("user")},
	{"--me", false, flagged("--mine")},
	{"-n --name --jobname", true, func(c *Call, name string) error { c.add("name:" + name); return nil }},
	{"-s --signal", true, as("signal")},
	{"-f --full", false, nothing},
	{"-b --batch", false, nothing},
	{"-Q --quiet", false, nothing},
	{"-v --verbose", false, nothing},
	{"-i --interactive", false, refused("it is not asked for each job here: name those that are to end")},
	{"-t --state", true, refused("jobs are not chosen by their state here: " +
		"gpusched cancel $(gpusched list --mine -s queued -o ids)")},
}

func readScancel(c *Call, t tool, args []string) error {
	c.add("cancel")
	jobs, err := t.parse(c, args, false)
	if err != nil {
		return err
	}
	whole, named := false, len(jobs) > 0
	for _, w := range c.Words {
		whole = whole || w == "--mine" || strings.HasPrefix(w, "--user=")
		named = named || strings.HasPrefix(w, "name:")
	}
	switch {
	case whole && named:
		return errors.New("name jobs, or say whose all are to end, not both")
	case whole:
		c.add("--yes") // scancel does not ask
	case !named:
		return errors.New("no job is named")
	}
	for _, j := range jobs {
		c.add(jobName(j))
	}
	return nil
}

// jobName is a job as Slurm's tools name it: 7, 7_3, 7_[3-5], and 7.batch, which is a
// part of it that is not apart here.
func jobName(name string) string {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".batch"), ".0")
	return strings.NewReplacer("[", "", "]", "").Replace(name)
}

var sinfoOptions = []option{
	{"-N --Node", false, nothing},
	{"-l --long", false, nothing},
	{"-a --all", false, nothing},
	{"-s --summarize", false, nothing},
	{"-p --partition", true, left("--partition", "there is one machine")},
	{"-h --noheader", false, refused("gpusched gpus -o csv has a fixed form: its first line is the header")},
	{"-o --format", true, refused("gpusched gpus -o csv and --json have a fixed form")},
}

func readSinfo(c *Call, t tool, args []string) error {
	c.add("gpus")
	rest, err := t.parse(c, args, false)
	if err == nil && len(rest) > 0 {
		err = errors.New("one word too many: " + rest[0])
	}
	return err
}

package alias

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

var scancelOptions = []option{
	{"-u --user", true, nil}, {"--me", false, nil}, {"-n --name --jobname", true, nil}, {"-t --state", true, nil},
	{"-p --partition", true, nil}, {"-A --account", true, nil}, {"-w --nodelist", true, nil},
	{"-s --signal", true, as("signal")},
	{"-f --full", false, nothing},
	{"-b --batch", false, nil},
	{"-H --hurry", false, nothing},
	{"--ctld", false, nothing},
	{"-M --clusters", true, nothing},
	{"-Q --quiet", false, nothing},
	{"-v --verbose", false, nothing},
	{"-i --interactive", false, refused("it is not asked for each job here: name those that are to end")},
	{"-q --qos", true, refused("no job has one here, so none would end")},
	{"-R --reservation", true, refused("no job has one here, so none would end")},
	{"--wckey", true, refused("no job has one here, so none would end")},
}

func readScancel(c *Call, t tool, args []string) error {
	v, mine, batch := &queueView{}, false, false
	own := v.reader()
	own["--me"] = func(c *Call, _ string) error { mine = true; c.add("--mine"); return nil }
	own["-b"] = func(*Call, string) error { batch = true; return nil }
	t.options = slices.Clone(t.options)
	for i, o := range t.options {
		first, _, _ := strings.Cut(o.names, " ")
		switch {
		case o.do == nil && o.value:
			t.options[i].do = filter(own[first])
		case o.do == nil:
			t.options[i].do = own[first]
		}
	}
	c.add("cancel")
	jobs, err := t.parse(c, args, false)
	if err == nil {
		err = checkStates(v.states)
	}
	if err != nil {
		return err
	}
	for i, w := range c.Words {
		if sig, is := strings.CutPrefix(w, "--signal="); is && batch {
			c.Words[i] = "--signal=main:" + sig
		}
	}
	if mine && len(v.users) > 0 {
		return errors.New("--me and --user: say whose jobs once")
	}
	filtered := len(v.names)+len(v.states)+len(v.parts)+len(v.accounts)+len(v.nodes) > 0
	whole := mine || len(v.users) > 0
	if !filtered && !whole && len(jobs) == 0 {
		return errors.New("no job is named")
	}
	for _, j := range jobs {
		if isStep(j) {
			return fmt.Errorf("%q is a step, which is a part of its job and not apart here", j)
		}
		c.add(jobName(j))
	}
	if len(v.users) == 1 {
		c.add("--user=" + v.users[0])
	}
	if filtered || whole && len(jobs) > 0 || len(v.users) > 1 {
		c.Only, c.States, c.Everybodys = v.in, v.states, len(v.users) > 1
	} else if whole {
		c.add("--yes") // scancel does not ask
	}
	return nil
}

// filter refuses a filter without a value, such as an empty variable: it leaves no job, and is not as if it were left
// out.
func filter(read func(*Call, string) error) func(*Call, string) error {
	return func(c *Call, value string) error {
		if len(list(value)) == 0 {
			return errors.New("it has no value, so no job is meant")
		}
		return read(c, value)
	}
}

// isStep reports whether a name is that of a step which ends without its job, such as 7.1.
func isStep(name string) bool {
	_, step, is := strings.Cut(name, ".")
	return is && step != "batch"
}

// In reports whether a job is in one of the states, by Slurm's words; none is all.
func In(states []string, j api.Job) bool { return len(states) == 0 || stateOf(j).in(states) }

// Pending reports whether jobs that wait are among the states.
func Pending(states []string) bool { return len(states) == 0 || slurmStates[job.Queued].in(states) }

// jobName is a job as Slurm's tools name it: 7, 7_3, 7_[3-5], and 7.batch, which is a
// part of it that is not apart here.
func jobName(name string) string {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".batch"), ".0")
	return strings.NewReplacer("[", "", "]", "").Replace(name)
}

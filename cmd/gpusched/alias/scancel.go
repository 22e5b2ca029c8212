package alias

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// scancelView holds scancel's options.
type scancelView struct {
	squeueView
	mine, batch bool
}

// scancelOptions returns the options, which are stored in the view.
func (v *scancelView) scancelOptions() []option {
	const none = "no job has one here, so none would be cancelled"
	return []option{
		{"-u --user", true, filter(&v.users)},
		{"--me", false, func(c *Call, _ string) error { v.mine = true; c.add("--mine"); return nil }},
		{"-n --name --jobname", true, filter(&v.names)}, {"-t --state", true, filter(&v.states)},
		{"-p --partition", true, filter(&v.parts)}, {"-A --account", true, filter(&v.accounts)},
		{"-w --nodelist", true, filter(&v.nodes)}, {"-s --signal", true, renamed("signal")}, {"-f --full", false, ignore},
		{"-b --batch", false, set(&v.batch)}, {"-H --hurry", false, ignore}, {"--ctld", false, ignore},
		{"-M --clusters", true, ignore}, {"-Q --quiet", false, ignore}, {"-v --verbose", false, ignore},
		{"-i --interactive", false, refused("gpusched does not ask about each job: name those to cancel")},
		{"-q --qos", true, refused(none)}, {"-R --reservation", true, refused(none)}, {"--wckey", true, refused(none)},
	}
}

func readScancel(c *Call, t tool, args []string) error {
	v := &scancelView{squeueView: squeueView{node: c.node}}
	t.options = v.scancelOptions()
	c.add("cancel")
	jobs, err := t.parse(c, args, false)
	if err == nil {
		err = checkStates(v.states)
	}
	if err != nil {
		return err
	}
	for i, w := range c.Words {
		if sig, is := strings.CutPrefix(w, "--signal="); is && v.batch {
			c.Words[i] = "--signal=main:" + sig
		}
	}
	if v.mine && len(v.users) > 0 {
		return errors.New("--me and --user both select whose jobs: use only one")
	}
	filtered := len(v.names)+len(v.states)+len(v.parts)+len(v.accounts)+len(v.nodes) > 0
	whole := v.mine || len(v.users) > 0
	if !filtered && !whole && len(jobs) == 0 {
		return errors.New("no job is named")
	}
	for _, word := range jobs {
		if i := slices.IndexFunc(list(word), isStep); i >= 0 {
			return fmt.Errorf("%q is a step, which can't be cancelled apart from its job here", list(word)[i])
		}
		c.add(jobNames(word)...)
	}
	if len(v.users) == 1 {
		c.add("--user=" + v.users[0])
	}
	if filtered || whole && len(jobs) > 0 || len(v.users) > 1 {
		c.Only, c.States, c.AllUsers = v.matches, v.states, len(v.users) > 1
	} else if whole {
		c.add("--yes") // scancel asks for no confirmation
	}
	return nil
}

// filter is like into, but refuses an empty value. An unset shell variable gives such a value, which
// must not select all jobs.
func filter(to *[]string) func(*Call, string) error {
	return func(c *Call, value string) error {
		if len(list(value)) == 0 {
			return errors.New("it has no value, so it matches no job")
		}
		return into(to)(c, value)
	}
}

// isStep reports whether a name such as 7.1 belongs to a step. A step can end without its job.
func isStep(name string) bool {
	_, step, is := strings.Cut(name, ".")
	return is && step != "batch"
}

// In reports whether a job is in one of these Slurm states. An empty list means all states.
func In(states []string, j api.Job) bool { return len(states) == 0 || stateOf(j).in(states) }

// Pending reports whether the states include waiting jobs. An empty list means all states.
func Pending(states []string) bool { return len(states) == 0 || slurmStates[job.Queued].in(states) }

// jobNames converts a list of job names. A word without any is kept, so that gpusched refuses it.
func jobNames(word string) []string {
	if len(list(word)) == 0 {
		return []string{word}
	}
	return job.Each(list(word), jobName)
}

// jobName converts a job name of Slurm's tools, such as 7, 7_3, 7_[3-5] or 7.batch, to gpusched's
// form. In gpusched, 7.batch is the job itself.
func jobName(name string) string {
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".batch"), ".0")
	return strings.NewReplacer("[", "", "]", "").Replace(name)
}

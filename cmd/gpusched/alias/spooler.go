package alias

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// tspOptions are the options of task-spooler, as in ts(1), and of its fork for GPUs.
var tspOptions = []option{
	{"-l", false, action("list")}, {"-c", false, action("logs")}, {"-t", false, action("logs", "-f")},
	{"-w", false, action("wait")}, {"-k", false, action("cancel")},
	{"-r", false, func(c *Call, _ string) error {
		c.Only = func(j api.Job) bool { return j.State == job.Queued }
		return action("cancel")(c, "")
	}},
	{"-i", false, action("show")}, {"-s", false, func(c *Call, _ string) error {
		c.Table = func(jobs []api.Job, _ time.Time) []string { return job.Each(jobs, spoolerState) }
		c.Check = func(jobs []api.Job, _ time.Time) error {
			if len(jobs) == 0 {
				return errors.New("there is no such job")
			}
			return nil
		}
		return action("list")(c, "")
	}},
	{"-f", false, action("run")},
	{"-L", true, renamed("name")}, {"-G --gpus", true, renamed("gpus")}, {"-g --gpu_indices", true, renamed("gpu-ids")},
	{"-D", true, renamed("after-any")}, {"-W", true, renamed("after-ok")},
	{"-d", false, flagged("--after-ok=@")},
	{"-n", false, ignored("-n", "output is kept in the journal")},
	{"-B", false, refused("a full queue is an error here: try again later")},
	{"-N", true, func(c *Call, n string) error { return c.Lane.take(n) }},
	{"-E", false, ignored("-E", "the two outputs are kept as one")},
	{"-m", false, func(c *Call, _ string) error {
		c.add("--notify=mail:end")
		c.note("-m: the mail says how the job ended, and not what it printed ('gpusched logs')")
		return nil
	}},
	{"-o", false, refused("output is in the journal, not in a file: see 'gpusched logs ID'")},
	{"-p", false, refused("a job is a unit: 'systemctl status gpujob-ID.service' lists its processes")},
	{"-u", false, refused("priority decides the order: 'gpusched update --priority P ID'")},
	{"-U", true, refused("priority decides the order: 'gpusched update --priority P ID'")},
	{"-C", false, refused("ended jobs are not in the list; 'gpusched list -a' has them")},
	{"-K", false, refused("the scheduler is a service of the machine: 'gpusched cancel --mine' ends your jobs")},
	{"-S", true, refused("it is for the whole queue: use it alone, tsp -S N")},
}

// spoolerState returns task-spooler's word for a job's state.
func spoolerState(j api.Job) string {
	switch {
	case j.State == job.Cancelled && j.StartedAt.IsZero():
		return "skipped"
	case j.State.Terminal():
		return "finished"
	case j.State == job.Queued:
		return "queued"
	}
	return "running"
}

// action returns the reader of a tsp option that becomes a command of gpusched.
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
		return c.readSlots(strings.Join(append([]string{slots}, args[1:]...), ""))
	}
	c.Lane, c.NoGPU = &Lane{Take: 1}, true
	rest, err := t.parse(c, args, true)
	if err != nil {
		return err
	}
	switch {
	case len(c.Words) == 0 || strings.HasPrefix(c.Words[0], "--"):
		c.Words, c.Submitted = append([]string{"submit"}, c.Words...), "%d\n"
		return c.addCommand(rest)
	case c.Words[0] == "run":
		return c.addCommand(rest)
	default:
		c.Lane, c.NoGPU = nil, false
	}
	switch {
	case c.Words[0] == "list" && c.Table != nil && len(rest) == 0:
		rest = []string{"@"}
	case c.Words[0] != "cancel" || len(rest) > 0:
	case c.Only == nil:
		return errors.New("say which job to cancel: tsp -k ID (tsp -l lists them)")
	default:
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

// A Lane is a queue whose jobs start in the order of submission. The number of slots limits how
// many jobs run at once. It is 1 by default.
type Lane struct {
	Take int // the number of slots that the job takes; 0 means that the call is about the slots, not a job

	Slots int // the new number of slots; 0 prints the current number
}

// maxSlots is the largest number of slots in a lane.
const maxSlots = 1000

func (l *Lane) take(text string) (err error) {
	l.Take, err = slots(text)
	return err
}

// readSlots reads tsp -S, which prints or sets the number of slots.
func (c *Call) readSlots(text string) (err error) {
	c.Lane = &Lane{}
	if text != "" {
		if c.Lane.Slots, err = slots(text); err != nil {
			return fmt.Errorf("-S: %w", err)
		}
	}
	return nil
}

func slots(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxSlots {
		return 0, fmt.Errorf("%q is not a number of slots, 1 to %d", text, maxSlots)
	}
	return n, nil
}

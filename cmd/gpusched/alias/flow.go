package alias

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
)

// gbatchOptions are the options of gbatch in gflow 0.4.
var gbatchOptions = []option{
	{"--gpus --gres", true, renamed("gpus")},
	{"--time --time-limit --timelimit", true, flowTime},
	{"--memory --max-mem --max-memory", true, renamed("mem")},
	{"--gpu-memory --max-gpu-mem --max-gpu-memory", true, renamed("gpu-mem")},
	{"--name -J --job-name", true, renamed("name")},
	{"--conda-env", true, renamed("conda")},
	{"--depends-on --dependency --depends-on-all", true, renamed("after-ok")},
	{"--array", true, renamed("array")},
	{"--param", true, flowParam},
	{"--max-concurrent", true, func(c *Call, n string) error { c.add("--array=%" + n); return nil }},
	{"--max-retries", true, renamed("retries")},
	{"--dry-run", false, flagged("--dry-run")},
	{"-P --project", true, func(c *Call, code string) error { c.add("--tag=project=" + code); return nil }},
	{"--priority --nice", true, refused("it has another scale there: 'gpusched submit -p low', normal or high")},
	{"--shared", false, refused("say which part of a GPU: 'gpusched submit -g 0.5'")},
	{"--depends-on-any", true, refused("a job waits for all that it names: 'gpusched submit --after-any'")},
}

// flowTime parses a duration as gflow does: a bare number is in minutes.
func flowTime(c *Call, text string) error {
	d, err := slurm.Minutes(text)
	if err == nil {
		c.add("--time=" + strconv.Itoa(int(d.Seconds())) + "s")
	}
	return err
}

// flowParam parses NAME=V,V and gflow's ranges NAME=FROM:TO and NAME=FROM:TO:STEP. A range includes
// TO.
func flowParam(c *Call, text string) error {
	name, values, _ := strings.Cut(text, "=")
	if n := strings.Count(values, ":"); n < 1 || n > 2 || strings.Contains(values, ",") {
		return renamed("param")(c, text)
	}
	list, err := flowRange(strings.Split(values, ":"))
	if err != nil {
		return fmt.Errorf("%q is not a range of numbers, FROM:TO or FROM:TO:STEP: %w", values, err)
	}
	return renamed("param")(c, name+"="+strings.Join(list, ","))
}

// maxRange is the largest number of values in one range.
const maxRange = 100_000

// flowRange returns the values of a range. The values have as many decimals as the step.
func flowRange(parts []string) (list []string, err error) {
	var n [3]float64
	for i, p := range parts {
		if n[i], err = strconv.ParseFloat(strings.TrimSpace(p), 64); err != nil || math.IsInf(n[i], 0) || math.IsNaN(n[i]) {
			return nil, fmt.Errorf("%q is not a number", p)
		}
	}
	from, to, step := n[0], n[1], n[2]
	if len(parts) == 2 {
		step = math.Copysign(1, to-from)
	}
	count := (to-from)/step + 1e-9
	if step == 0 || count < 0 || count >= maxRange {
		return nil, errors.New("its step does not lead from the first number to the last, or the range has too many values")
	}
	_, decimals, _ := strings.Cut(strconv.FormatFloat(math.Abs(step), 'f', -1, 64), ".")
	for i := range int(count) + 1 {
		list = append(list, strconv.FormatFloat(from+step*float64(i), 'f', len(decimals), 64))
	}
	return list, nil
}

// flowMark begins the lines of a script that contain options of gbatch.
const flowMark = "# GFLOW"

func readGbatch(c *Call, t tool, args []string) error {
	c.NoGPU, c.Submitted = true, submittedBatch
	c.add("submit")
	rest, err := t.parse(c, args, true)
	if err != nil {
		return err
	}
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return errors.New("there is no command to run")
	}
	typed := c.Words[1:]
	c.Script = &Script{File: rest[0], Read: func(text string) error { return c.flowScript(t, text, typed, rest) }}
	return c.flowCommand(rest, "")
}

// flowScript reads the options in a script. It puts them before the options of the command line, so
// that the options of the command line override them.
func (c *Call) flowScript(t tool, text string, typed, rest []string) error {
	var words []string
	for line := range strings.Lines(text) {
		if options, ok := strings.CutPrefix(line, flowMark); ok {
			words = append(words, strings.Fields(options)...)
		}
	}
	c.Words = []string{"submit"}
	more, err := t.parse(c, words, true)
	if err == nil && len(more) > 0 {
		err = fmt.Errorf("%q is not an option", more[0])
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w", rest[0], flowMark, err)
	}
	for _, once := range []string{"--after-ok=", "--array=", "--param="} {
		if mentions(typed, once) {
			c.Words = slices.DeleteFunc(c.Words, func(w string) bool { return strings.HasPrefix(w, once) })
		}
	}
	c.add(typed...)
	first, _, _ := strings.Cut(text, "\n")
	program, argument, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(first, "#!")), " ")
	by := quote(program) + " "
	if argument = strings.TrimSpace(argument); argument != "" {
		by += quote(argument) + " "
	}
	return c.flowCommand(rest, by)
}

// flowVariable is the variable that contains a task's number. Outside of arrays it is 0.
const flowVariable = "GFLOW_ARRAY_TASK_ID"

// flowCommand adds the command. As in gflow, the task's number replaces the variable in the words
// of the command, and all other bytes stay as they are. If the command is a script, the argument
// interpreter is the program that runs the script.
func (c *Call) flowCommand(rest []string, interpreter string) error {
	if strings.Count(strings.Join(c.Words, " "), "--array=") > 1 {
		return errors.New("--max-concurrent is for --param: an array has its limit in it, --array 1-10%2")
	}
	mention := strings.NewReplacer("${"+flowVariable+"}", "$"+flowVariable, "$"+flowVariable, "$"+flowVariable)
	task := mentions(c.Words, "--array=") && !mentions(c.Words, "--array=%")
	if !task {
		c.add("--set-env=" + flowVariable + "=0")
	}
	words := make([]string, len(rest))
	for i, w := range rest {
		parts := strings.Split(mention.Replace(w), "$"+flowVariable)
		if words[i] = strings.Join(parts, "0"); task {
			for n, p := range parts {
				parts[n] = quote(p)
			}
			words[i] = strings.Join(parts, `"$`+flowVariable+`"`)
		}
	}
	if !task {
		return c.addCommand(words)
	}
	if !mentions(c.Words, "--name=") {
		c.add("--name=" + path.Base(rest[0]))
	}
	line := "export " + flowVariable + `="$GPUSCHED_ARRAY_TASK"; exec ` + interpreter + strings.Join(words, " ")
	return c.addCommand([]string{"/bin/sh", "-c", line})
}

func mentions(words []string, beginning string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, beginning) })
}

// quote quotes a word for a shell.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

var gqueueOptions = []option{
	{"-a --all", false, flagged("--all")},
	{"-u --user", true, renamed("user")},
	{"-s --state", true, func(c *Call, state string) error { c.add("--state=" + strings.ToLower(state)); return nil }},
	{"-n --name", true, renamed("name")},
	{"-f --format", true, refused("the columns are fixed: 'gpusched list -o csv' has all")},
	{"-t --tree", false, refused("'gpusched show ID' has what a job waits for")},
}

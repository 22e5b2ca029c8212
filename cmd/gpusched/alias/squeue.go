package alias

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// squeueFormat is squeue's default format.
const squeueFormat = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"

// squeueView holds squeue's options.
type squeueView struct {
	users, names, states   []string
	parts, accounts, nodes []string
	qos                    []string
	ids                    []string
	node                   string // the name of the machine
	format                 string
	long                   bool // the format is one of squeue -O
	bare                   bool
	each                   bool // show a line for each waiting task of an array
}

// minJobAge is how long Slurm remembers an ended job.
const minJobAge = 5 * time.Minute

// options returns the options, which are stored in the view.
func (v *squeueView) options() []option {
	form := func(text string) func(*Call, string) error {
		return func(*Call, string) error { v.format, v.long = text, false; return nil }
	}
	return []option{
		{"-u --user", true, into(&v.users)}, {"--me", false, flagged("--mine")}, {"-j --jobs --job", true, into(&v.ids)},
		{"-n --name", true, into(&v.names)}, {"-t --states --state", true, into(&v.states)}, {"-h --noheader", false, set(&v.bare)},
		{"-o --format", true, func(_ *Call, text string) error { v.format, v.long = text, false; return nil }},
		{"-O --Format", true, func(_ *Call, text string) error { v.format, v.long = text, true; return nil }},
		{"--start", false, form("%.18i %.9P %.8j %.8u %.2t %.19S %.6D %R")},
		{"-l --long", false, form("%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R")},
		{"-a --all", false, ignore}, {"-r --array", false, set(&v.each)}, {"-p --partition", true, into(&v.parts)},
		{"-i --iterate", true, refused("it is shown once here: watch -n 5 squeue")},
		{"-S --sort", true, refused("the order here is that of the queue: squeue -h | sort")}, {"-M --clusters", true, ignore},
		{"-A --account", true, into(&v.accounts)}, {"-w --nodelist", true, into(&v.nodes)},
		{"--local", false, ignore}, {"--federation", false, ignore}, {"-q --qos", true, into(&v.qos)}, {"-v --verbose", false, ignore},
		{"-s --steps", false, refused("steps are known only inside their job: gpusched exec ID -- ps -ef")},
		{"-R --reservation", true, refused("no job is in one here: 'gpusched reserve list' lists them")},
		{"--json", false, refused(otherJSON("list"))}, {"--yaml", false, refused(otherJSON("list"))},
	}
}

const namedWithJ = "%q is not an option: jobs are named with -j"

func readSqueue(c *Call, t tool, args []string) error {
	v := &squeueView{format: squeueFormat, node: c.node}
	t.options = v.options()
	c.add("list", "--waiting=0")
	if err := t.parseOnly(c, args, namedWithJ); err != nil {
		return err
	}
	columns, err := v.chosenColumns()
	if err == nil {
		err = checkStates(v.states)
	}
	if err != nil {
		return err
	}
	if v.wantsEnded() {
		c.add("--all", "--ended=10000")
	}
	if len(v.users) == 1 {
		c.add("--user=" + v.users[0])
	}
	for _, id := range v.ids {
		c.add(jobName(id))
	}
	c.lookUp(columns)
	if len(v.ids) == 1 {
		c.Check = func(jobs []api.Job, now time.Time) error {
			if !slices.ContainsFunc(jobs, func(j api.Job) bool { return !isForgotten(j, now) }) {
				return fmt.Errorf("no job %s waits, runs or ended within the last %.0f minutes", v.ids[0], minJobAge.Minutes())
			}
			return nil
		}
	}
	c.Table = func(jobs []api.Job, now time.Time) (lines []string) {
		if v.each {
			jobs = expandArrays(jobs)
		}
		if !v.bare {
			lines = append(lines, row(columns, func(q formatColumn) string { return q.field.title }))
		}
		for _, j := range jobs {
			if v.shows(j, now) {
				lines = append(lines, row(columns, func(q formatColumn) string { return q.field.of(j, now) }))
			}
		}
		return lines
	}
	return nil
}

// lookUp is the option with which gpusched looks up what the caller's jobs keep private.
const lookUp = "--output=cols=command"

// lookUp makes gpusched look up the caller's jobs if a column is private.
func (c *Call) lookUp(columns []formatColumn) {
	if slices.ContainsFunc(columns, func(q formatColumn) bool { return q.field.letter == "Z" || q.field.letter == "o" }) {
		c.add(lookUp)
	}
}

// wantsEnded reports whether the user asked for ended jobs.
func (v *squeueView) wantsEnded() bool {
	return len(v.states) > 0 && slices.ContainsFunc(job.States(), func(s job.State) bool {
		return s.Terminal() && slurmStates[s].in(v.states)
	})
}

// shows reports whether a job is shown. A shown job matches the filters, and Slurm would still
// remember it.
func (v *squeueView) shows(j api.Job, now time.Time) bool {
	return !shownByTasks(j) && (!j.State.Terminal() || v.wantsEnded()) && !isForgotten(j, now) &&
		v.matches(j) && In(v.states, j)
}

// isForgotten reports whether a job ended so long ago that Slurm's controller would have forgotten
// it.
func isForgotten(j api.Job, now time.Time) bool {
	return j.State.Terminal() && now.Sub(j.EndedAt) > minJobAge
}

// matches reports whether the filters match a job. It ignores the job's state.
func (v *squeueView) matches(j api.Job) bool {
	in := func(list []string, word string) bool { return len(list) == 0 || slices.Contains(list, word) }
	user := in(v.users, j.User) || slices.Contains(v.users, strconv.Itoa(j.UID))
	return user && in(v.names, j.Name) && in(v.parts, partition) && in(v.qos, "normal") && in(v.accounts, j.User) &&
		(len(v.nodes) == 0 || isPlaced(j) && slices.ContainsFunc(v.nodes, v.isNode))
}

// isNode reports whether a word names the machine.
func (v *squeueView) isNode(word string) bool { return isNode(word, v.node) }

func isNode(word, node string) bool {
	short, _, _ := strings.Cut(node, ".")
	return word == node || word == short || word == "localhost"
}

// A formatColumn is one part of a format: some text, then a field with its width.
type formatColumn struct {
	before string
	width  int
	right  bool
	field  field
}

// longFields maps the names of squeue -O to the letters of squeue -o.
var longFields = map[string]string{
	"jobid": "A", "jobarrayid": "i", "arrayjobid": "F", "arraytaskid": "K", "name": "j", "partition": "P", "account": "a",
	"username": "u", "userid": "U", "statecompact": "t", "state": "T", "timeused": "M", "timelimit": "l", "timeleft": "L",
	"numnodes": "D", "nodelist": "N", "batchhost": "B", "reasonlist": "R", "reason": "r", "numcpus": "C", "mincpus": "c",
	"minmemory": "m", "tres-per-node": "b", "gres": "b", "prioritylong": "Q", "submittime": "V", "starttime": "S", "endtime": "e",
	"comment": "k", "qos": "q", "feature": "f", "dependency": "E",
	"command": "o", "workdir": "Z", "nice": "y",
}

// chosenColumns parses the format of -o, or that of -O, such as JobID:8,Name:.20.
func (v *squeueView) chosenColumns() ([]formatColumn, error) {
	if !v.long {
		return v.parseColumns(v.format)
	}
	format := ""
	for _, item := range list(v.format) {
		name, width, sized := strings.Cut(item, ":")
		letter := longFields[strings.ToLower(name)]
		if letter == "" {
			return nil, fmt.Errorf("there is no field %q here: there are %s", name, strings.Join(slices.Sorted(maps.Keys(longFields)), ", "))
		}
		if !sized || strings.Trim(width, ".") == "" {
			width += "20" // Slurm's width
		}
		format += "%" + width + letter
	}
	return v.parseColumns(format)
}

// parseColumns parses a squeue format, such as %.18i.
func (v *squeueView) parseColumns(format string) (list []formatColumn, err error) {
	for {
		q, letter, rest, err := cutField(format)
		if err != nil {
			return nil, err
		}
		if letter == "" {
			q.field.of = func(api.Job, time.Time) string { return "" }
			return append(list, q), nil
		}
		known := fields(v.node)
		i := slices.IndexFunc(known, func(f field) bool { return f.letter == letter })
		if i < 0 {
			return nil, fmt.Errorf("there is no %%%s here: there are %s", letter, letters())
		}
		q.field = known[i]
		list, format = append(list, q), rest
	}
}

// cutField cuts a format after its first field, such as %.18i. If there is no field, the result
// letter is "".
func cutField(format string) (q formatColumn, letter, rest string, err error) {
	before, rest, ok := strings.Cut(format, "%")
	q.before = before
	if !ok {
		return q, "", "", nil
	}
	rest, q.right = strings.CutPrefix(rest, ".")
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	if digits > 4 || digits == len(rest) {
		return q, "", "", errors.New("the format ends after a %, or its width is too large")
	}
	q.width, _ = strconv.Atoi("0" + rest[:digits])
	return q, rest[digits : digits+1], rest[digits+1:], nil
}

func letters() string {
	var list []string
	for _, f := range fields("") {
		if f.letter != "" {
			list = append(list, "%"+f.letter)
		}
	}
	return strings.Join(list, " ")
}

// row fills in one line of the table.
func row(columns []formatColumn, text func(formatColumn) string) string {
	var b strings.Builder
	for _, q := range columns {
		b.WriteString(q.before)
		b.WriteString(pad(text(q), q.width, q.right))
	}
	return strings.TrimRight(b.String(), " ")
}

// pad pads or cuts text to a width. A width of 0 leaves the text as it is.
func pad(text string, width int, right bool) string {
	if width == 0 {
		return text
	}
	letters := []rune(text)
	letters = letters[:min(len(letters), width)]
	space := strings.Repeat(" ", width-len(letters))
	if right {
		return space + string(letters)
	}
	return string(letters) + space
}

package alias

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// sacctFormat is sacct's default format.
const sacctFormat = "JobID%12,JobName,Partition,Account,AllocCPUS,State,ExitCode%8"

// sacctView holds sacct's options.
type sacctView struct {
	squeueView
	since string
	until string
	sep   string // the text between fields; "" aligns the fields in columns
	after string // the text at the end of each line
	every bool
}

// sacctOptions returns the options, which are stored in the view.
func (v *sacctView) sacctOptions() []option {
	forms := func(sep, after string) func(*Call, string) error {
		return func(*Call, string) error { v.sep, v.after = sep, after; return nil }
	}
	return []option{
		{"-j --jobs", true, into(&v.ids)}, {"-u --user --uid", true, into(&v.users)}, {"-a --allusers", false, set(&v.every)},
		{"-s --state", true, into(&v.states)}, {"--name", true, into(&v.names)}, {"-S --starttime", true, store(&v.since)},
		{"-o --format", true, store(&v.format)},
		{"-b --brief", false, func(*Call, string) error { v.format = "JobID%12,State,ExitCode%8"; return nil }},
		{"-n --noheader", false, set(&v.bare)},
		{"-p --parsable", false, forms("|", "|")}, {"-P --parsable2", false, forms("|", "")},
		{"-X --allocations", false, ignore}, {"-D --duplicates", false, ignore}, {"-E --endtime", true, store(&v.until)},
		{"-r --partition", true, into(&v.parts)}, {"-M --clusters", true, ignore}, {"-L --allclusters", false, ignore},
		{"-A --accounts", true, into(&v.accounts)}, {"-N --nodelist", true, into(&v.nodes)},
		{"--units", true, ignored("--units", "gpusched chooses the unit of each amount")}, {"--noconvert", false, ignore},
		{"-q --qos", true, into(&v.qos)}, {"-v --verbose", false, ignore},
		{"-e --helpformat", false, func(c *Call, _ string) error { c.Help = strings.ReplaceAll(names(), ",", "\n") + "\n"; return nil }},
		{"-l --long", false, refused("name the fields: sacct -o JobID,State,Elapsed,MaxRSS,AllocTRES (sacct -e lists them)")},
		{"-T --truncate", false, refused("times are not cut to those of -S and -E here")},
		{"-c --completion", false, refused("there is no other record here: leave it out")},
		{"-B --batch-script", false, refused("'gpusched show ID' says where the job's script is")},
		{"--json", false, refused(otherJSON("history"))}, {"--yaml", false, refused(otherJSON("history"))},
	}
}

func readSacct(c *Call, t tool, args []string) error {
	v := &sacctView{squeueView: squeueView{format: sacctFormat, node: c.node}}
	t.options = v.sacctOptions()
	c.add("list", "--waiting=0", "--ended=10000")
	if err := t.parseOnly(c, args, namedWithJ); err != nil {
		return err
	}
	if c.Help != "" {
		c.Words = nil
		return nil
	}
	columns, err := v.columns()
	if err == nil {
		err = checkStates(v.states)
	}
	for _, text := range []string{v.since, v.until} {
		if err == nil && text != "" {
			_, err = parseTime(text, time.Time{})
		}
	}
	if err != nil {
		return err
	}
	v.choose(c)
	c.lookUp(columns)
	c.Table = func(jobs []api.Job, now time.Time) []string { return v.tableLines(columns, jobs, now) }
	return nil
}

// choose adds the arguments that select jobs: the named jobs, or the caller's own.
func (v *sacctView) choose(c *Call) {
	switch {
	case len(v.ids) > 0:
		for _, id := range v.ids {
			c.add(jobName(id))
		}
	case len(v.users) == 1:
		c.add("--all", "--user="+v.users[0])
	case v.every || len(v.users) > 0:
		c.add("--all")
	default:
		c.add("--all", "--mine")
	}
}

// columns parses the fields of a format. A field can have a width: Name%20 or Name%-20.
func (v *sacctView) columns() (columns []formatColumn, err error) {
	for _, word := range list(v.format) {
		name, width, given := strings.Cut(word, "%")
		known := fields(v.node)
		i := slices.IndexFunc(known, func(f field) bool { return f.name != "" && strings.EqualFold(f.name, name) })
		if i < 0 {
			return nil, fmt.Errorf("there is no field %q here: there are %s", name, names())
		}
		q := formatColumn{field: known[i], width: 10, right: true}
		if given {
			n, err := strconv.Atoi(width)
			if err != nil || n == 0 || n > 9999 || n < -9999 {
				return nil, fmt.Errorf("%q is not the width of a field", width)
			}
			q.width, q.right = max(n, -n), n > 0
		}
		columns = append(columns, q)
	}
	if len(columns) == 0 {
		return nil, errors.New("the format has no field")
	}
	return columns, nil
}

func names() string {
	var list []string
	for _, f := range fields("") {
		if f.name != "" {
			list = append(list, f.name)
		}
	}
	return strings.Join(list, ",")
}

// tableLines formats the table. It leaves out jobs that ended before the start time, and arrays
// whose tasks are shown instead.
func (v *sacctView) tableLines(columns []formatColumn, jobs []api.Job, now time.Time) (lines []string) {
	if !v.bare {
		lines = append(lines, v.line(columns, func(q formatColumn) string { return q.field.name }))
		if v.sep == "" {
			lines = append(lines, v.line(columns, func(q formatColumn) string { return strings.Repeat("-", q.width) }))
		}
	}
	since := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	if v.since != "" {
		since, _ = parseTime(v.since, now)
	} else if len(v.ids) > 0 {
		since = time.Time{}
	}
	until := now
	if v.until != "" {
		until, _ = parseTime(v.until, now)
	}
	jobs = slices.Clone(jobs)
	slices.SortStableFunc(jobs, func(x, y api.Job) int { return int(x.ID - y.ID) })
	for _, j := range jobs {
		if shownByTasks(j) || !j.EndedAt.IsZero() && j.EndedAt.Before(since) || j.SubmittedAt.After(until) || !v.matches(j) ||
			len(v.states) > 0 && !stateOf(j).in(v.states) {
			continue
		}
		lines = append(lines, v.line(columns, func(q formatColumn) string { return q.field.of(j, now) }))
	}
	return lines
}

func (v *sacctView) line(columns []formatColumn, text func(formatColumn) string) string {
	var cells []string
	for _, q := range columns {
		if v.sep == "" {
			cells = append(cells, pad(text(q), q.width, q.right))
		} else {
			cells = append(cells, strings.ReplaceAll(text(q), v.sep, " "))
		}
	}
	if v.sep == "" {
		return strings.TrimRight(strings.Join(cells, " "), " ")
	}
	return strings.Join(cells, v.sep) + v.after
}

// units are the units of relative times such as now-2days.
var units = map[string]time.Duration{
	"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour, "": time.Second,
}

// parseTime parses a time as sacct does.
func parseTime(text string, now time.Time) (time.Time, error) {
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch text {
	case "now":
		return now, nil
	case "today", "midnight":
		return today, nil
	}
	if clock := slurm.TimesOfDay[text]; clock != "" {
		text = clock
	}
	if back, ok := strings.CutPrefix(text, "now-"); ok {
		digits := strings.TrimRight(back, "abcdefghijklmnopqrstuvwxyz")
		n, err := strconv.Atoi(digits)
		unit, known := units[strings.TrimSuffix(back[len(digits):], "s")]
		if err == nil && known && n >= 0 && time.Duration(n) <= 10*job.MaxDuration/unit {
			return now.Add(-time.Duration(n) * unit), nil
		}
	}
	for _, layout := range []string{
		"2006-01-02", "2006-01-02T15:04", "2006-01-02T15:04:05", "010206", "01/02/06",
		"01/02/06-15:04", "01/02/06-15:04:05", "0102", "01/02", "15:04", "15:04:05",
	} {
		at, err := time.ParseInLocation(layout, text, now.Location())
		switch {
		case err != nil:
		case strings.Contains(layout, "06"):
			return at, nil
		case strings.Contains(layout, ":"):
			return time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), at.Second(), 0, now.Location()), nil
		default:
			return time.Date(now.Year(), at.Month(), at.Day(), 0, 0, 0, 0, now.Location()), nil
		}
	}
	return now, fmt.Errorf("%q is not a time: 2026-11-22, 2026-11-22T08:00, 8:00, today, now-2days", text)
}

package onslurm

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/sbatch"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Refused interprets an error of sbatch from SubmitNoted. It reports
// whether nothing was queued, because Slurm declined the request or
// was not reached. After any other error the job may be queued.
func Refused(err error) bool {
	var e *api.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case api.CodeUsage, api.CodeForbidden, api.CodeNever, api.CodePolicy:
		return true
	case api.CodeUnreachable:
		return strings.Contains(e.Message, "(connect failure)")
	}
	return false
}

// If two submissions are at least minSubmitGap apart, and the accounting has the second, it also
// has the first. An sbatch may take that long, and the clocks of the machines differ a little.
const minSubmitGap = 10 * time.Minute

// Moved finds the user's job that has a tag and was submitted no earlier than start. The first
// result is 0 if there is none. The second result is false if Slurm may have forgotten the job. The
// controller forgets a job MinJobAge after its end. The accounting, if any, proves nothing unless
// it has a job that was submitted later. The tag's value consists of letters, digits, dots and
// hyphens.
func (e *Engine) Moved(ctx context.Context, tag, value string, start time.Time) (id job.ID, certain bool, err error) {
	user := "--user=" + strconv.Itoa(e.uid)
	list, err := e.rowsOf(ctx, keyColumns, "--states=all", user)
	if err != nil {
		return 0, false, err
	}
	for _, r := range list {
		if sbatch.ParseComment(r[colComment]).Tags[tag] == value {
			return r.jobOrArray(), true, nil
		}
	}
	remembered, err := e.remembersSince(ctx, start)
	if remembered || err != nil {
		return 0, remembered, err
	}
	sep := newSeparator()
	out, err := e.slurm.Ask(ctx, "sacct", "--allocations", "--noheader", "--parsable2", "--delimiter="+sep, user,
		"--starttime="+localTime(start.Add(-time.Hour)), "--format="+strings.Join(searchFields, ","))
	if err != nil {
		return 0, false, nil // there is no accounting
	}
	table, err := pastRows(string(out), sep, len(searchFields))
	if err != nil {
		return 0, false, err
	}
	id, last := findInAccounting(table, tag+"="+value)
	return id, id != 0 || last.After(start.Add(minSubmitGap)), nil
}

// remembersSince reports whether the controller still has every job that was submitted after a
// time.
func (e *Engine) remembersSince(ctx context.Context, since time.Time) (bool, error) {
	config, err := e.slurm.Config(ctx)
	if err != nil {
		return false, err
	}
	text, _, _ := strings.Cut(config["MinJobAge"], " ")
	age, err := strconv.Atoi(text)
	ago := time.Since(since)
	return err == nil && ago >= 0 && (age == 0 || ago < time.Duration(age)*time.Second), nil
}

// jobOrArray returns the id of the job, or the id of its array if the job is a task.
func (r *row) jobOrArray() job.ID { return job.ID(cmp.Or(r.number(colArrayJobID), r.number(colJobID))) }

// searchFields are the fields of sacct in which a job is searched for. The last field is a number,
// so that the end of a row is certain: a command line may contain newlines.
var searchFields = strings.Fields("JobID Submit Comment SubmitLine%4096 UID")

// findInAccounting returns the job whose comment or command line contains a mark. It also returns
// the time of the last submission in the table.
func findInAccounting(table [][]string, mark string) (id job.ID, last time.Time) {
	for _, fields := range table {
		name, _, _ := strings.Cut(fields[0], "_")
		current, err := job.ParseID(name)
		if err != nil {
			continue
		}
		if at := parseTime(fields[1]); at.After(last) {
			last = at
		}
		if id == 0 && (hasMark(fields[2], mark) || hasMark(fields[3], mark)) {
			id = current
		}
	}
	return id, last
}

// hasMark reports whether a line contains a mark, not followed by a digit.
func hasMark(line, mark string) bool {
	parts := strings.Split(line, mark)
	return slices.ContainsFunc(parts[1:], func(rest string) bool {
		return rest == "" || !strings.ContainsAny(rest[:1], "0123456789")
	})
}

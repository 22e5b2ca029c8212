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

// Refused reports whether an error of SubmitNoted, from sbatch itself, says that nothing was queued: Slurm
// has looked at the request and does not take it, or was not reached. After any other error it may have it.
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

// late is how much later than another one a job has to be submitted for the accounting to have both: an
// sbatch may take that long, and the clocks of the machines differ by a little.
const late = 10 * time.Minute

// Moved finds the user's job that was submitted with a tag, not before a time; 0: there is none. It is
// sure of that unless Slurm may have forgotten the job: what ended longer ago than MinJobAge only the
// accounting has, where there is one, and that only when what was submitted later is there, too. The
// value has letters, digits, dots and hyphens alone.
func (e *Engine) Moved(ctx context.Context, tag, value string, since time.Time) (id job.ID, sure bool, err error) {
	user := "--user=" + strconv.Itoa(e.uid)
	list, err := e.rowsOf(ctx, whichJob, "--states=all", user)
	if err != nil {
		return 0, false, err
	}
	for _, r := range list {
		if sbatch.ParseSaid(r[colComment]).Tags[tag] == value {
			return r.whole(), true, nil
		}
	}
	kept, err := e.keeps(ctx, since)
	if kept || err != nil {
		return 0, kept, err
	}
	between := parting()
	out, err := e.slurm.Ask(ctx, "sacct", "--allocations", "--noheader", "--parsable2", "--delimiter="+between, user,
		"--starttime="+localTime(since.Add(-time.Hour)), "--format="+strings.Join(accountFields, ","))
	if err != nil {
		return 0, false, nil // there is no accounting
	}
	table, err := pastRows(string(out), between, len(accountFields))
	if err != nil {
		return 0, false, err
	}
	id, last := inAccounts(table, tag+"="+value)
	return id, id != 0 || last.After(since.Add(late)), nil
}

// keeps reports whether the controller still has all that was submitted since then.
func (e *Engine) keeps(ctx context.Context, since time.Time) (bool, error) {
	config, err := e.slurm.Config(ctx)
	if err != nil {
		return false, err
	}
	text, _, _ := strings.Cut(config["MinJobAge"], " ")
	age, err := strconv.Atoi(text)
	ago := time.Since(since)
	return err == nil && ago >= 0 && (age == 0 || ago < time.Duration(age)*time.Second), nil
}

// whole is the number of a job, or of the array that a task is of.
func (r *row) whole() job.ID { return job.ID(cmp.Or(r.number(colArrayJobID), r.number(colJobID))) }

// accountFields are those of sacct that a job is looked for in. The last is a number, behind which the row ends:
// a command line may have ends of lines in it.
var accountFields = strings.Fields("JobID Submit Comment SubmitLine%4096 UID")

// inAccounts finds a mark in the comment or the command line of a row of sacct's, and when the last job there
// was submitted.
func inAccounts(table [][]string, mark string) (id job.ID, last time.Time) {
	for _, fields := range table {
		name, _, _ := strings.Cut(fields[0], "_")
		current, err := job.ParseID(name)
		if err != nil {
			continue
		}
		if at := momentOf(fields[1]); at.After(last) {
			last = at
		}
		if id == 0 && (has(fields[2], mark) || has(fields[3], mark)) {
			id = current
		}
	}
	return id, last
}

// has reports whether a line has a mark that no further digit follows.
func has(line, mark string) bool {
	parts := strings.Split(line, mark)
	return slices.ContainsFunc(parts[1:], func(rest string) bool {
		return rest == "" || !strings.ContainsAny(rest[:1], "0123456789")
	})
}

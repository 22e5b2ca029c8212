package onslurm

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/sbatch"
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

// movedFields are those of squeue by which a job is known that was submitted with a tag or a mark. No other is
// asked: a directory may have an end of line in its name, with which the row would be none.
var movedFields = strings.Fields("JobID ArrayJobID State Reason SubmitTime StartTime NodeList Comment")

// late is how much later than another one a job has to be submitted for the accounting to have both: an
// sbatch may take that long, and the clocks of the machines differ by a little.
const late = 10 * time.Minute

// Moved finds the user's job that was submitted with a tag, not before a time; 0: there is none. It is
// sure of that unless Slurm may have forgotten the job: what ended longer ago than MinJobAge only the
// accounting has, where there is one, and that only when what was submitted later is there, too. The
// value has letters, digits, dots and hyphens alone.
func (e *Engine) Moved(ctx context.Context, tag, value string, since time.Time) (id job.ID, sure bool, err error) {
	user := "--user=" + strconv.Itoa(e.uid)
	list, err := e.rowsOf(ctx, movedFields, "--states=all", user)
	if err != nil {
		return 0, false, err
	}
	for _, r := range list {
		if sbatch.ParseSaid(r["Comment"]).Tags[tag] == value {
			return r.whole(), true, nil
		}
	}
	kept, err := e.keeps(ctx, since)
	if kept || err != nil {
		return 0, kept, err
	}
	out, err := e.ask(ctx, "sacct", "--allocations", "--noheader", "--parsable2", "--delimiter="+separator, user,
		"--starttime="+localTime(since.Add(-time.Hour)), "--format=JobID,Submit,Comment,SubmitLine%4096")
	if err != nil {
		return 0, false, nil // there is no accounting
	}
	id, last := inAccounts(string(out), tag+"="+value)
	return id, id != 0 || last.After(since.Add(late)), nil
}

// keeps reports whether the controller still has all that was submitted since then.
func (e *Engine) keeps(ctx context.Context, since time.Time) (bool, error) {
	config, err := e.ask(ctx, "scontrol", "show", "config")
	if err != nil {
		return false, err
	}
	text, _, _ := strings.Cut(settings(string(config))["MinJobAge"], " ")
	age, err := strconv.Atoi(text)
	ago := time.Since(since)
	return err == nil && ago >= 0 && (age == 0 || ago < time.Duration(age)*time.Second), nil
}

// whole is the number of a job, or of the array that a task is of.
func (r row) whole() job.ID { return job.ID(cmp.Or(r.number("ArrayJobID"), r.number("JobID"))) }

// inAccounts finds a mark in the comment or the command line of a row of sacct's, and when the last job there
// was submitted. A command line may have ends of lines in it.
func inAccounts(text, mark string) (id job.ID, last time.Time) {
	var current job.ID
	for line := range strings.Lines(text) {
		if fields := strings.Split(line, separator); len(fields) > 3 {
			name, _, _ := strings.Cut(fields[0], "_")
			current, _ = job.ParseID(name)
			if at := (row{"Submit": fields[1]}).moment("Submit"); current != 0 && at.After(last) {
				last = at
			}
		}
		if id == 0 && has(line, mark) {
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

package onslurm

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Moved finds the user's job that was submitted with a tag, not before a time; 0: there is none. It is
// sure of that unless Slurm may have forgotten the job: what ended longer ago than MinJobAge only the
// accounting has, where there is one. The value has letters, digits, dots and hyphens alone.
func (e *Engine) Moved(ctx context.Context, tag, value string, since time.Time) (id job.ID, sure bool, err error) {
	user := "--user=" + strconv.Itoa(e.uid)
	list, err := e.queue(ctx, "--states=all", user)
	if err != nil {
		return 0, false, err
	}
	for _, j := range list {
		if j.Tags[tag] == value {
			return whole(&j), true, nil
		}
	}
	// The clocks of the machines may differ by a little.
	from := since.Add(-time.Hour)
	out, err := e.ask(ctx, "sacct", "--allocations", "--noheader", "--parsable2", "--delimiter="+separator, user,
		"--starttime="+localTime(from), "--format=JobID,Comment,SubmitLine%4096")
	if err == nil {
		return inAccounts(string(out), tag+"="+value), true, nil
	}
	config, err := e.ask(ctx, "scontrol", "show", "config")
	if err != nil {
		return 0, false, err
	}
	age, _, _ := strings.Cut(settings(string(config))["MinJobAge"], " ")
	kept, err := strconv.Atoi(age)
	return 0, err == nil && time.Since(since) < time.Duration(kept)*time.Second, nil
}

// whole is the number of a job, or of the array that a task is of.
func whole(j *api.Job) job.ID {
	if j.Task != nil {
		return j.Task.Array
	}
	return j.ID
}

// inAccounts finds a mark in the comment or the command line of a row of sacct's.
func inAccounts(text, mark string) job.ID {
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(line, separator)
		_, after, found := strings.Cut(rest, mark)
		if !found || after != "" && strings.ContainsAny(after[:1], "0123456789") {
			continue
		}
		name, _, _ = strings.Cut(name, "_")
		if id, err := job.ParseID(name); err == nil {
			return id
		}
	}
	return 0
}

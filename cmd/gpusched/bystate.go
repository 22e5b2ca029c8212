package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// alike is what tasks have in common that share a row.
type alike struct {
	queue string
	array job.ID
	state string
}

// byState is the jobs with one row for the tasks of an array that are in the same state, in the place of the first
// of them. Tasks that have completed are in the row of their array where that has, too.
func byState(jobs []api.Job) []api.Job {
	inOrder(jobs)
	over, groups := map[alike]bool{}, map[alike][]api.Job{}
	for _, j := range jobs {
		if j.Array != nil && j.State == job.Completed {
			over[alike{queueOf(j), j.ID, string(j.State)}] = true
		}
		if j.Task != nil {
			groups[kindOf(j)] = append(groups[kindOf(j)], j)
		}
	}
	rows := jobs[:0:0]
	for _, j := range jobs {
		if j.Task == nil {
			rows = append(rows, j)
			continue
		}
		kind := kindOf(j)
		if list := groups[kind]; len(list) > 0 && !over[kind] {
			rows = append(rows, oneRow(list))
		}
		delete(groups, kind)
	}
	return rows
}

func kindOf(j api.Job) alike { return alike{queueOf(j), j.Task.Array, stateWord(j)} }

// oneRow is the row of tasks that are alike: all of their GPUs, the longest that one has run, and the cause that they
// have in common.
func oneRow(list []api.Job) api.Job {
	row := list[0]
	if len(list) == 1 {
		return row
	}
	var tasks []int
	longest := row
	row.GPUs = nil
	for _, j := range list {
		tasks = append(tasks, j.Task.Index)
		for _, g := range j.GPUs {
			row.GPUs = withShare(row.GPUs, g)
		}
		if ranLonger(j, longest) {
			longest = j
		}
	}
	row.StartedAt, row.SuspendedAt, row.SuspendedSeconds = longest.StartedAt, longest.SuspendedAt, longest.SuspendedSeconds
	if !row.EndedAt.IsZero() && !longest.StartedAt.IsZero() { // the row's end is the newest
		row.StartedAt, row.SuspendedSeconds = row.EndedAt.Add(-elapsed(longest, longest.EndedAt)), 0
	}
	slices.Sort(tasks)
	slices.SortFunc(row.GPUs, func(a, b api.Allocation) int { return cmp.Compare(a.Index, b.Index) })
	row.Together, row.Alike = job.FormatTasks(tasks), len(tasks)
	if slices.ContainsFunc(list, func(j api.Job) bool { return whyOf(j) != whyOf(list[0]) }) {
		row.Why = fmt.Sprintf("several causes: 'gpusched list %s -s %s'", shortID(row, 0), row.State)
		row.Reasons = nil
		if row.Result != nil {
			row.Result = &api.Result{Result: row.Result.Result, Sentence: row.Why}
		}
	}
	return row
}

// ranLonger compares tasks in the same state.
func ranLonger(a, b api.Job) bool {
	switch {
	case a.StartedAt.IsZero() || b.StartedAt.IsZero():
		return b.StartedAt.IsZero()
	case a.EndedAt.IsZero():
		return a.StartedAt.Before(b.StartedAt)
	}
	return elapsed(a, a.EndedAt) > elapsed(b, b.EndedAt)
}

// withShare is the allocations with one more, GPU by GPU.
func withShare(list []api.Allocation, g api.Allocation) []api.Allocation {
	for i := range list {
		if list[i].Index == g.Index {
			list[i].Milli = min(list[i].Milli+g.Milli, job.WholeGPU)
			return list
		}
	}
	return append(list, g)
}

// inOrder puts those that have ended in order: the newest first, an array before its tasks, and tasks that ended in
// the same second by their numbers.
func inOrder(jobs []api.Job) {
	first := slices.IndexFunc(jobs, func(j api.Job) bool { return j.State.Terminal() })
	if first < 0 || slices.ContainsFunc(jobs[first:], func(j api.Job) bool { return !j.State.Terminal() }) {
		return // several machines, one after the other
	}
	slices.SortStableFunc(jobs[first:], func(a, b api.Job) int { return newestFirst(&a, &b) })
}

// newestFirst compares jobs that have ended.
func newestFirst(a, b *api.Job) int {
	return cmp.Or(cmp.Compare(b.EndedAt.Unix(), a.EndedAt.Unix()), cmp.Compare(family(b), family(a)),
		cmp.Compare(taskIndex(a), taskIndex(b)))
}

// family is a job, or the array that a task is of.
func family(j *api.Job) job.ID {
	if j.Task != nil {
		return j.Task.Array
	}
	return j.ID
}

// taskIndex is the number of a task; what is none comes before.
func taskIndex(j *api.Job) int {
	if j.Task != nil {
		return j.Task.Index
	}
	return -1
}

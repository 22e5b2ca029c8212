package api

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// A rowKey is the key of a row. Tasks with the same key share a row.
type rowKey struct {
	queue string
	array job.ID
	state string
}

// ByState returns the rows of a listing in the form that people see. All tasks of an array in the
// same state become one row, at the place of the first of these tasks. Completed tasks are left out
// if their array has completed. The argument nEnded is the number of ended jobs that the client
// asked for. If the listing has that many, tasks that ended earlier may be missing.
func ByState(jobs []Job, nEnded int) []Job {
	InEndOrder(jobs)
	over, groups := map[rowKey]bool{}, map[rowKey][]*Job{}
	n, oldest := 0, time.Time{}
	for i := range jobs {
		j := &jobs[i]
		if j.Array != nil && j.State == job.Completed {
			over[rowKey{j.Queue(), j.ID, string(j.State)}] = true
		}
		if j.Task != nil {
			groups[kindOf(j)] = append(groups[kindOf(j)], j)
		}
		if n++; !j.State.Terminal() {
			n--
		} else if oldest.IsZero() || j.EndedAt.Before(oldest) {
			oldest = j.EndedAt
		}
	}
	if n < nEnded {
		oldest = time.Time{} // the listing has all ended jobs
	}
	rows := make([]Job, 0, len(jobs))
	for i := range jobs {
		j := &jobs[i]
		if j.Task == nil {
			rows = append(rows, *j)
			continue
		}
		kind := kindOf(j)
		if list := groups[kind]; len(list) > 0 && !over[kind] {
			rows = append(rows, oneRow(list))
			row := &rows[len(rows)-1]
			row.Older = row.Together != "" && j.State.Terminal() && j.SubmittedAt.Before(oldest)
		}
		delete(groups, kind)
	}
	return rows
}

func kindOf(j *Job) rowKey { return rowKey{j.Queue(), j.Task.Array, j.StateWord()} }

// oneRow returns one row for several similar tasks. The row has all GPUs of the tasks, and the
// longest run time. It has a cause only if all tasks have the same cause.
func oneRow(list []*Job) Job {
	row := *list[0]
	if len(list) == 1 {
		return row
	}
	var tasks []int
	longest := list[0]
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
	row.StartedAt, row.SuspendedAt, row.SuspendedTime = longest.StartedAt, longest.SuspendedAt, longest.SuspendedTime
	if !row.EndedAt.IsZero() && !longest.StartedAt.IsZero() { // EndedAt is the end of the newest task
		row.StartedAt, row.SuspendedTime = row.EndedAt.Add(-longest.Elapsed(longest.EndedAt)), 0
	}
	slices.Sort(tasks)
	slices.SortFunc(row.GPUs, func(a, b Allocation) int { return cmp.Compare(a.Index, b.Index) })
	row.Together, row.Alike = job.FormatTasks(tasks), len(tasks)
	var r words.Reader
	if slices.ContainsFunc(list, func(j *Job) bool { return j.Cause(r) != list[0].Cause(r) }) {
		row.Why = fmt.Sprintf("several causes: 'gpusched list %s -s %s'", row.Called(), row.State)
		row.Reasons = nil
		if row.Result != nil {
			row.Result = &Result{Result: row.Result.Result, Sentence: row.Why, Said: job.Text(row.Why)}
		}
	}
	return row
}

// ranLonger reports whether a has run longer than b. Both must be in the same state.
func ranLonger(a, b *Job) bool {
	switch {
	case a.StartedAt.IsZero() || b.StartedAt.IsZero():
		return b.StartedAt.IsZero()
	case a.EndedAt.IsZero():
		return a.StartedAt.Before(b.StartedAt)
	}
	return a.Elapsed(a.EndedAt) > b.Elapsed(b.EndedAt)
}

// withShare adds an allocation to a list that has one entry per GPU.
func withShare(list []Allocation, g Allocation) []Allocation {
	for i := range list {
		if list[i].Index == g.Index {
			list[i].Milli = min(list[i].Milli+g.Milli, job.WholeGPU)
			return list
		}
	}
	return append(list, g)
}

// InEndOrder sorts the ended jobs of a listing, newest first. An array is before its tasks.
// Tasks that ended in the same second are sorted by number.
func InEndOrder(jobs []Job) {
	first := slices.IndexFunc(jobs, func(j Job) bool { return j.State.Terminal() })
	if first < 0 || slices.ContainsFunc(jobs[first:], func(j Job) bool { return !j.State.Terminal() }) {
		return // the listings of several machines follow each other
	}
	slices.SortStableFunc(jobs[first:], func(a, b Job) int { return NewestFirst(&a, &b) })
}

// NewestFirst compares two ended jobs.
func NewestFirst(a, b *Job) int {
	return cmp.Or(cmp.Compare(b.EndedAt.Unix(), a.EndedAt.Unix()), cmp.Compare(b.family(), a.family()),
		cmp.Compare(a.taskIndex(), b.taskIndex()))
}

// family returns the job's id, or for a task the id of its array.
func (j *Job) family() job.ID {
	if j.Task != nil {
		return j.Task.Array
	}
	return j.ID
}

// taskIndex returns the number of a task, or -1 for any other job.
func (j *Job) taskIndex() int {
	if j.Task != nil {
		return j.Task.Index
	}
	return -1
}

// Queue returns the machine or engine to show before the job's number.
// It returns "" if the job belongs to the scheduler that was asked.
func (j *Job) Queue() string { return cmp.Or(j.Host, j.Engine) }

// Called returns the job's name in the form that people and commands use: the job's machine or
// engine, and its number, or for a task a name such as "7_3". A row of several tasks has the
// array's number.
func (j *Job) Called() string {
	name := j.ID.String()
	switch {
	case j.Task == nil:
	case j.Together != "":
		name = j.Task.Array.String()
	default:
		name = j.Task.Name
	}
	if queue := j.Queue(); queue != "" {
		return queue + ":" + name
	}
	return name
}

// longestTasks is the largest width of the task numbers that follow an array's number.
const longestTasks = 16

// WithTasks returns the job's name for a table, in the form of Called. If the row is an array or
// several tasks, it also has the tasks' numbers, unless these are too long. Commands accept the
// result.
func (j *Job) WithTasks() string {
	tasks := j.Together
	if j.Array != nil {
		tasks = j.Array.Spec
	}
	if tasks == "" || len(tasks) > longestTasks || strings.Contains(tasks, "…") {
		return j.Called()
	}
	return fmt.Sprintf("%s_[%s]", j.Called(), tasks)
}

// Several returns the text before the state in a row of several tasks, such as "3 ".
// If more tasks may have ended earlier, it is "197+ ". For any other row it is "".
func (j *Job) Several() string {
	switch {
	case j.Older:
		return fmt.Sprintf("%d+ ", j.Alike)
	case j.Together != "":
		return fmt.Sprintf("%d ", j.Alike)
	}
	return ""
}

// StateWord returns the state, followed in brackets by what is happening to the job.
func (j *Job) StateWord() string {
	word := string(j.State)
	switch live := !j.State.Terminal(); {
	case live && (j.StopRequested == job.StopRequeue || j.StopRequested == job.StopPreempt):
		return word + " (requeueing)"
	case live && j.StopRequested != "":
		return word + " (ending)"
	case live && j.Parked != nil:
		return word + " (" + string(j.Parked.State) + ")"
	case live && j.Suspended():
		return word + " (suspended)"
	case live && len(j.Warnings) > 0:
		return word + warningWords(j.Warnings)
	case live && j.Held():
		return word + " (held)"
	}
	return word
}

// warningWords returns warnings in a short form, which follows a state.
func warningWords(list []job.Warning) string {
	var words []string
	for _, w := range list {
		word := "idle"
		if w.Code == job.WarningMemory {
			word = "over memory"
		}
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return " (" + strings.Join(words, ", ") + ")"
}

// Suspended reports whether the job is suspended.
func (j *Job) Suspended() bool { return !j.SuspendedAt.IsZero() }

// Held reports whether the job is held. An array is held if all its waiting tasks are held.
func (j *Job) Held() bool {
	a := j.Array
	switch {
	case j.State == job.Queued:
		return j.HeldBy != "" || a != nil && a.TooManyFailed
	case a == nil || j.State.Terminal():
		return false
	}
	return a.Waiting > 0 && a.Held == a.Waiting
}

// Elapsed returns the time that the job's present or last attempt has run. Suspended time does not
// count. For a job that has not run, Elapsed returns 0.
func (j *Job) Elapsed(now time.Time) time.Duration {
	end := now
	switch {
	case j.StartedAt.IsZero():
		return 0
	case !j.EndedAt.IsZero():
		end = j.EndedAt
	case j.Suspended():
		end = j.SuspendedAt
	}
	return max(0, end.Sub(j.StartedAt)-j.SuspendedTime.Duration())
}

// CountLine returns the numbers of live jobs by state, such as "2 running,
// 1 queued", or "" if there are none.
func CountLine(counts map[job.State]int) string {
	var parts []string
	for _, s := range []job.State{job.Running, job.Starting, job.Ending, job.Queued, job.Spawned} {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, ", ")
}

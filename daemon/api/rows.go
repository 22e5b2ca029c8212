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

// alike is the key of tasks that share a row.
type alike struct {
	queue string
	array job.ID
	state string
}

// ByState returns the rows that people see for a listing: one row for all tasks of an array that
// are in the same state, at the place of the first of them. Completed tasks are left out if their
// array has completed, too. Ended is the number of ended jobs that the scheduler was asked for: if
// the listing has that many, more tasks may have ended before them.
func ByState(jobs []Job, ended int) []Job {
	InEndOrder(jobs)
	over, groups := map[alike]bool{}, map[alike][]*Job{}
	n, oldest := 0, time.Time{}
	for i := range jobs {
		j := &jobs[i]
		if j.Array != nil && j.State == job.Completed {
			over[alike{j.Queue(), j.ID, string(j.State)}] = true
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
	if n < ended {
		oldest = time.Time{} // the listing has all that ended
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

func kindOf(j *Job) alike { return alike{j.Queue(), j.Task.Array, j.StateWord()} }

// oneRow returns the row for tasks that are alike: it has all their GPUs, the longest run time, and
// their cause if it is the same for all.
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
	if !row.EndedAt.IsZero() && !longest.StartedAt.IsZero() { // the row ends with its newest task
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

// ranLonger reports whether a has run longer than b. Both are in the same state.
func ranLonger(a, b *Job) bool {
	switch {
	case a.StartedAt.IsZero() || b.StartedAt.IsZero():
		return b.StartedAt.IsZero()
	case a.EndedAt.IsZero():
		return a.StartedAt.Before(b.StartedAt)
	}
	return a.Elapsed(a.EndedAt) > b.Elapsed(b.EndedAt)
}

// withShare adds an allocation to a list that has one for each GPU.
func withShare(list []Allocation, g Allocation) []Allocation {
	for i := range list {
		if list[i].Index == g.Index {
			list[i].Milli = min(list[i].Milli+g.Milli, job.WholeGPU)
			return list
		}
	}
	return append(list, g)
}

// InEndOrder sorts the ended jobs of a listing: newest first, an array before its tasks, and tasks
// that ended in the same second by number.
func InEndOrder(jobs []Job) {
	first := slices.IndexFunc(jobs, func(j Job) bool { return j.State.Terminal() })
	if first < 0 || slices.ContainsFunc(jobs[first:], func(j Job) bool { return !j.State.Terminal() }) {
		return // listings of several machines, one after the other
	}
	slices.SortStableFunc(jobs[first:], func(a, b Job) int { return NewestFirst(&a, &b) })
}

// NewestFirst compares jobs that have ended.
func NewestFirst(a, b *Job) int {
	return cmp.Or(cmp.Compare(b.EndedAt.Unix(), a.EndedAt.Unix()), cmp.Compare(b.family(), a.family()),
		cmp.Compare(a.taskIndex(), b.taskIndex()))
}

// family returns the job's id, or the id of its array for a task.
func (j *Job) family() job.ID {
	if j.Task != nil {
		return j.Task.Array
	}
	return j.ID
}

// taskIndex returns the number of a task, and -1 for any other job.
func (j *Job) taskIndex() int {
	if j.Task != nil {
		return j.Task.Index
	}
	return -1
}

// Queue returns the machine or engine that is shown before the job's number; "" for the scheduler
// that was asked.
func (j *Job) Queue() string { return cmp.Or(j.Host, j.Engine) }

// Called returns the job's name as people and commands use it: its number, or "7_3" for a task,
// after its machine or engine. Tasks in one row go by the number of their array.
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

// longestTasks is the number of columns that the tasks of an array may take after its number.
const longestTasks = 16

// WithTasks returns Called for a table: an array, or tasks in one row, with the tasks' numbers if
// these are short. Commands accept it as it is.
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

// Several returns what precedes the state in a row of several tasks: "3 ", or "197+ " if more of
// them may have ended earlier; "" for any other row.
func (j *Job) Several() string {
	switch {
	case j.Older:
		return fmt.Sprintf("%d+ ", j.Alike)
	case j.Together != "":
		return fmt.Sprintf("%d ", j.Alike)
	}
	return ""
}

// StateWord returns the state, with what is happening to the job in brackets.
func (j *Job) StateWord() string {
	word := string(j.State)
	switch live := !j.State.Terminal(); {
	case live && (j.StopRequested == job.StopRequeue || j.StopRequested == job.StopPreempt):
		return word + " (back to queue)"
	case live && j.StopRequested != "":
		return word + " (ending)"
	case live && j.Suspended():
		return word + " (suspended)"
	case live && len(j.Warnings) > 0:
		return word + warningWords(j.Warnings)
	case live && j.Held():
		return word + " (held)"
	}
	return word
}

// warningWords returns the short form of warnings that follows a state.
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

// Held reports whether the job is held. An array counts as held if all its waiting tasks are.
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

// Elapsed returns how long the job's current or last attempt has run, without the time in which it
// was suspended; 0 if it has not run.
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

// CountLine returns the numbers of live jobs by state, such as "2 running, 1 queued"; "" if there are none.
func CountLine(counts map[job.State]int) string {
	var parts []string
	for _, s := range []job.State{job.Running, job.Starting, job.Ending, job.Queued, job.Spawned} {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, ", ")
}

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

// alike is what tasks have in common that share a row.
type alike struct {
	queue string
	array job.ID
	state string
}

// ByState is a listing as people are shown it: one row for the tasks of an array that are in the same state, in the
// place of the first of them. Tasks that have completed are in the row of their array where that has, too. For so many
// ended jobs the scheduler was asked: where it has answered with as many there may be tasks that ended before these.
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
		oldest = time.Time{} // there are no others
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

// oneRow is the row of tasks that are alike: all of their GPUs, the longest that one has run, and the cause that they
// have in common.
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
	row.StartedAt, row.SuspendedAt, row.Rested = longest.StartedAt, longest.SuspendedAt, longest.Rested
	if !row.EndedAt.IsZero() && !longest.StartedAt.IsZero() { // the row's end is the newest
		row.StartedAt, row.Rested = row.EndedAt.Add(-longest.Elapsed(longest.EndedAt)), 0
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

// ranLonger compares tasks in the same state.
func ranLonger(a, b *Job) bool {
	switch {
	case a.StartedAt.IsZero() || b.StartedAt.IsZero():
		return b.StartedAt.IsZero()
	case a.EndedAt.IsZero():
		return a.StartedAt.Before(b.StartedAt)
	}
	return a.Elapsed(a.EndedAt) > b.Elapsed(b.EndedAt)
}

// withShare is the allocations with one more, GPU by GPU.
func withShare(list []Allocation, g Allocation) []Allocation {
	for i := range list {
		if list[i].Index == g.Index {
			list[i].Milli = min(list[i].Milli+g.Milli, job.WholeGPU)
			return list
		}
	}
	return append(list, g)
}

// InEndOrder puts those that have ended in order: the newest first, an array before its tasks, and tasks that ended in
// the same second by their numbers.
func InEndOrder(jobs []Job) {
	first := slices.IndexFunc(jobs, func(j Job) bool { return j.State.Terminal() })
	if first < 0 || slices.ContainsFunc(jobs[first:], func(j Job) bool { return !j.State.Terminal() }) {
		return // several machines, one after the other
	}
	slices.SortStableFunc(jobs[first:], func(a, b Job) int { return NewestFirst(&a, &b) })
}

// NewestFirst compares jobs that have ended.
func NewestFirst(a, b *Job) int {
	return cmp.Or(cmp.Compare(b.EndedAt.Unix(), a.EndedAt.Unix()), cmp.Compare(b.family(), a.family()),
		cmp.Compare(a.taskIndex(), b.taskIndex()))
}

// family is a job, or the array that a task is of.
func (j *Job) family() job.ID {
	if j.Task != nil {
		return j.Task.Array
	}
	return j.ID
}

// taskIndex is the number of a task; what is none comes before.
func (j *Job) taskIndex() int {
	if j.Task != nil {
		return j.Task.Index
	}
	return -1
}

// Queue is the machine or engine that is named before the number; "": the scheduler that was asked.
func (j *Job) Queue() string { return cmp.Or(j.Host, j.Engine) }

// Called is what people call the job, and commands take: its number, or as a task "7_3", behind its machine or engine.
// Of tasks in one row it is their array.
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

// longestTasks is how many columns the tasks of an array may take behind its number.
const longestTasks = 16

// WithTasks is Called in a table: an array, and tasks in one row, with which tasks they are, as far as these are short.
// It can be typed as it stands.
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

// Several is what stands before the state of tasks in one row: "3 ", or "197+ " where there may be more of them that
// ended earlier; "": it is no such row.
func (j *Job) Several() string {
	switch {
	case j.Older:
		return fmt.Sprintf("%d+ ", j.Alike)
	case j.Together != "":
		return fmt.Sprintf("%d ", j.Alike)
	}
	return ""
}

// StateWord is the state, with what is being done about it.
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

// warningWords is the short form of warnings, behind the state.
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

// Suspended reports whether the job is halted.
func (j *Job) Suspended() bool { return !j.SuspendedAt.IsZero() }

// Held reports whether the job, or all that waits of an array, is kept from starting.
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

// Elapsed is how long the present or last attempt of a job has run, without the time in
// which it was suspended; 0: it has not.
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
	return max(0, end.Sub(j.StartedAt)-j.Rested.Duration())
}

// CountLine counts the jobs that have not ended by state, such as "2 running, 1 queued"; "": there are none.
func CountLine(counts map[job.State]int) string {
	var parts []string
	for _, s := range []job.State{job.Running, job.Starting, job.Ending, job.Queued, job.Spawned} {
		if n := counts[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, ", ")
}

package job

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Results sum up those tasks of an array that have ended and are still on record.
type Results struct {
	Ends []TaskEnd       // each kind of end once, ordered by its first task
	Runs []time.Duration // run times of the tasks that completed
}

// TaskEnd is one kind of end, with the numbers of its tasks, ascending.
type TaskEnd struct {
	Result Result // result of the first task
	Tasks  []int
}

// Add counts the end of a task with its run time. The tasks must be added in ascending order.
func (r *Results) Add(index int, end *Result, ran time.Duration) {
	if end.Outcome == Completed {
		r.Runs = append(r.Runs, ran)
	}
	for i := range r.Ends {
		if e := &r.Ends[i]; e.Result.isSameKind(end) {
			e.Tasks = append(e.Tasks, index)
			return
		}
	}
	r.Ends = append(r.Ends, TaskEnd{Result: *end, Tasks: []int{index}})
}

// isSameKind reports whether two results are of one kind. An exit status of 137 and a kill are
// different kinds.
func (r *Result) isSameKind(s *Result) bool {
	if r.Outcome == Failed && r.Signal != s.Signal {
		return false
	}
	return r.Outcome == s.Outcome && r.Code() == s.Code() && r.Launch == s.Launch && r.Cause == s.Cause
}

// FormatTasks returns ascending numbers as ParseArray reads them: "0-2,7,10-20:5".
func FormatTasks(list []int) string { return strings.Join(TaskRuns(list), ",") }

// ShortTasks returns the same as FormatTasks, but cut off after maxSpecRanges runs of numbers.
func ShortTasks(list []int) string {
	runs := TaskRuns(list)
	if len(runs) > maxSpecRanges {
		runs = append(runs[:maxSpecRanges], "…")
	}
	return strings.Join(runs, ",")
}

// ParseTasks reads the form of FormatTasks.
func ParseTasks(s string) (list []int, err error) {
	if s == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		r, ok := parseRange(part)
		if !ok || r.Last > MaxTaskIndex {
			return nil, fmt.Errorf("%q is not a list of tasks", s)
		}
		for i := range r.size() {
			list = append(list, r.First+i*r.Step)
		}
	}
	return list, nil
}

// TaskRuns returns the runs of ascending numbers, such as 0-2, 7 and 10-20:5.
func TaskRuns(list []int) (runs []string) {
	for len(list) > 0 {
		n, step := 1, 1
		if len(list) > 1 {
			step = list[1] - list[0]
		}
		for n < len(list) && list[n]-list[n-1] == step {
			n++
		}
		if n == 2 && step > 1 {
			n = 1
		}
		run := strconv.Itoa(list[0])
		if n > 1 {
			run += "-" + strconv.Itoa(list[n-1])
		}
		if n > 1 && step > 1 {
			run += ":" + strconv.Itoa(step)
		}
		runs, list = append(runs, run), list[n:]
	}
	return runs
}

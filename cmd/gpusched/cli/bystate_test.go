package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
	"github.com/gpusched/gpusched/units/contract"
)

// taskOf7 returns a task of array 7.
func taskOf7(index int, state job.State, change func(*api.Job)) api.Job {
	task := job.Task{Array: 7, Index: index}
	j := api.Job{ID: job.ID(100 + index), State: state, User: "bob", Task: &api.Task{Task: task, Name: task.String()}}
	if state.Terminal() {
		j.SubmittedAt, j.StartedAt, j.EndedAt = noon.Add(-time.Minute), noon.Add(-time.Minute), noon.Add(time.Duration(index)*time.Millisecond)
		j.Result = &api.Result{Result: job.Result{Outcome: job.Failed, ExitCode: 1}}
	}
	if change != nil {
		change(&j)
	}
	return j
}

// Tasks of an array share one row for each state. The row has the place of its first task.
func TestTasksShareARowForEachState(t *testing.T) {
	on := func(gpu, milli, minutes int) func(*api.Job) {
		return func(j *api.Job) {
			j.GPUs = []api.Allocation{{GPU: contract.GPU{Index: gpu, Milli: milli}}}
			j.StartedAt = noon.Add(time.Duration(-minutes) * time.Minute)
		}
	}
	suspended := func(j *api.Job) { j.SuspendedAt, j.SuspendedBy = noon, "bob" }
	other := func(j *api.Job) { j.Result = &api.Result{Result: job.Result{Outcome: job.Failed, Signal: 9}} }
	hours := func(j *api.Job) { j.StartedAt, j.EndedAt = noon.Add(-4*time.Hour), noon.Add(-210*time.Minute) }
	early := func(j *api.Job) { j.SubmittedAt = noon.Add(-time.Hour) }
	parent := api.Job{ID: 7, State: job.Queued, User: "bob", Array: &api.Array{Spec: "0-99%4", Size: 100, Next: 12, Live: 6, Failed: 3}}
	over := api.Job{ID: 7, State: job.Completed, EndedAt: noon, Result: &api.Result{Result: job.Result{Outcome: job.Completed}}, Array: &api.Array{Spec: "0-1", Size: 2, Next: 2}}
	for name, c := range map[string]struct {
		jobs  []api.Job
		want  string
		asked int // how many ended jobs were requested
	}{
		"running": {[]api.Job{taskOf7(3, job.Running, on(1, 1000, 5)), {ID: 8, State: job.Running}, taskOf7(2, job.Running, on(0, 500, 60)), taskOf7(4, job.Running, on(0, 250, 1)), parent},
			"7_[2-4] '3 running' 0:0.75,1 1h | 8 'running' - | 7_[0-99%4] '88 queued, 6 running, 6 of 100 ended (3 failed)' -", 99},
		"one":                                    {[]api.Job{taskOf7(3, job.Running, on(1, 1000, 5))}, "7_3 'running' 1 5m", 99},
		"not alike":                              {[]api.Job{taskOf7(1, job.Running, nil), taskOf7(2, job.Running, suspended), taskOf7(3, job.Starting, nil)}, "7_1 'running' - | 7_2 'running (suspended)' - suspended by bob since 2026-03-01 12:00:00 UTC | 7_3 'starting' -", 99},
		"ended":                                  {[]api.Job{taskOf7(9, job.Failed, nil), taskOf7(2, job.Failed, nil)}, "7_[2,9] '2 failed' - 1m exit code 1", 99},
		"ended in two ways":                      {[]api.Job{taskOf7(9, job.Failed, nil), taskOf7(2, job.Failed, other)}, "7_[2,9] '2 failed' - 1m several causes: 'gpusched list 7 -s failed'", 99},
		"ended hours apart":                      {[]api.Job{taskOf7(2, job.Failed, nil), taskOf7(9, job.Failed, hours)}, "7_[2,9] '2 failed' - 30m exit code 1", 99},
		"too many to name":                       {[]api.Job{taskOf7(1, job.Running, nil), taskOf7(3, job.Running, nil), taskOf7(5, job.Running, nil), taskOf7(17, job.Running, nil), taskOf7(29, job.Running, nil), taskOf7(41, job.Running, nil), taskOf7(59, job.Running, nil)}, "7 '7 running' -", 99},
		"all in their array":                     {[]api.Job{taskOf7(1, job.Completed, nil), taskOf7(0, job.Completed, nil), over}, "7_[0-1] 'completed' -", 99},
		"all that were asked for":                {[]api.Job{taskOf7(9, job.Failed, early), taskOf7(2, job.Failed, early)}, "7_[2,9] '2+ failed' - 1m exit code 1", 2},
		"as many as were asked for, all younger": {[]api.Job{taskOf7(9, job.Failed, nil), taskOf7(2, job.Failed, nil), {ID: 5, State: job.Failed, EndedAt: noon.Add(-time.Hour)}}, "7_[2,9] '2 failed' - 1m exit code 1 | 5 'failed' -", 3},
	} {
		var rows []string
		for _, j := range api.ByState(c.jobs, c.asked) {
			rows = append(rows, strings.Join(strings.Fields(fmt.Sprintf("%s '%s' %s %s %s", j.WithTasks(), StateCell(j), GPUsOf(j), RanText(j, noon), j.Note(words.Reader{}))), " "))
		}
		if name == "ended hours apart" && api.ByState(c.jobs, c.asked)[0].EndedAt.Before(noon) {
			t.Errorf("%s: the row ended at %v", name, api.ByState(c.jobs, c.asked)[0].EndedAt)
		}
		if got := strings.Join(rows, " | "); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}

// A thousand running tasks do not hide a waiting task. The name of their row can be typed as an id.
func TestManyTasksAreOneRow(t *testing.T) {
	jobs := []api.Job{}
	for i := range 1000 {
		jobs = append(jobs, taskOf7(i, job.Running, nil))
	}
	rows := api.ByState(append(jobs, api.Job{ID: 2000, State: job.Queued}), 0)
	if len(rows) != 2 || rows[0].WithTasks() != "7_[0-999]" || rows[1].ID != 2000 {
		t.Fatalf("%d rows, the first %q", len(rows), rows[0].WithTasks())
	}
	out, b := screen(80, false)
	term.WriteTable(out, (&App{Env: Env{Out: out}}).JobColumns(), rows, false)
	if strings.Contains(b.String(), "_[…]") {
		t.Errorf("an id that can't be typed:\n%s", b)
	}
	for word, want := range map[string]int{"7_[0-999]": 1000, "7_[0-99%4]": 100, "7_[0-8:4]": 3, "7_[2,9-11]": 4} {
		if ids, err := (&App{}).Resolve(t.Context(), []string{word}); err != nil || len(ids) != want {
			t.Errorf("%s is %d jobs, not %d: %v", word, len(ids), want, err)
		}
	}
}

// Among jobs that ended in the same second, an array precedes its tasks, and the tasks are in
// order.
func TestOrderWithinOneSecond(t *testing.T) {
	over := api.Job{ID: 7, State: job.Failed, EndedAt: noon.Add(time.Millisecond), Array: &api.Array{}}
	jobs := []api.Job{{ID: 9, State: job.Queued}, taskOf7(12, job.Failed, nil), over, taskOf7(1, job.Failed, nil), {ID: 3, State: job.Failed, EndedAt: noon.Add(time.Minute)}}
	api.InEndOrder(jobs)
	if got := Joined(jobs, " ", NameOfJob); got != "9 3 7 7_1 7_12" {
		t.Error(got)
	}
}

package server

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// results returns the states of an array's tasks, and how the ended tasks ended. A task that runs
// again counts with its last result.
func (f *jobFinder) results(ctx context.Context, array *job.JobView) (*api.Results, error) {
	live, err := f.backend(ctx).Query(ctx, job.Query{Array: array.ID})
	if err != nil {
		return nil, err
	}
	past, err := f.backend(ctx).Results(ctx, array.ID)
	if err != nil {
		return nil, err
	}
	known := map[int]bool{}
	out := &api.Results{Runs: runTimes(past.Runs)}
	for _, e := range past.Ends {
		for _, index := range e.Tasks {
			known[index] = true
		}
		g := api.TaskGroup{
			State: e.Result.Outcome, Code: e.Result.Code(), Sentence: words.Result(&e.Result), Started: true,
			Count: len(e.Tasks), Tasks: job.FormatTasks(e.Tasks),
		}
		if g.State == job.Failed {
			g.Signal = e.Result.Signal
		}
		out.Tasks = append(out.Tasks, g)
	}
	slices.SortStableFunc(out.Tasks, func(x, y api.TaskGroup) int {
		return cmp.Or(cmp.Compare(endRank(x), endRank(y)), cmp.Compare(y.Count, x.Count))
	})
	out.Tasks = append(out.Tasks, liveGroups(live.Jobs, known)...)
	addUnstarted(out, array, known)
	return out, nil
}

// endRank returns a task group's place in an order: completed tasks come first, and cancelled tasks
// last.
func endRank(g api.TaskGroup) int {
	switch g.State {
	case job.Completed:
		return 0
	case job.Cancelled:
		return 2
	}
	return 1
}

// liveGroups returns the tasks that are live jobs, grouped by state.
func liveGroups(list []job.JobView, known map[int]bool) (out []api.TaskGroup) {
	tasks := map[job.State][]int{}
	for _, v := range list {
		if v.Task != nil && !v.State.Terminal() && !known[v.Task.Index] {
			known[v.Task.Index] = true
			tasks[v.State] = append(tasks[v.State], v.Task.Index)
		}
	}
	for _, state := range job.States() {
		if some := tasks[state]; len(some) > 0 {
			slices.Sort(some)
			g := api.TaskGroup{State: state, Started: true, Count: len(some), Tasks: job.FormatTasks(some)}
			if state == job.Queued {
				g.Sentence = "back in the queue"
			}
			out = append(out, g)
		}
	}
	return out
}

// addUnstarted adds the tasks that are not jobs. These tasks wait, were cancelled before they
// started, or had jobs that have been forgotten.
func addUnstarted(out *api.Results, array *job.JobView, known map[int]bool) {
	n, a := array.Tasks, array.Request.Array
	if n == nil || a == nil {
		return
	}
	var waiting, cancelled, forgotten []int
	dropped := make([]bool, a.Size())
	for _, d := range n.Dropped {
		for at := d.First; at <= d.Last && at < len(dropped); at++ {
			dropped[at] = d.By != ""
		}
	}
	for at := range a.Size() {
		switch index := a.At(at); {
		case known[index]:
		case dropped[at]:
			cancelled = append(cancelled, index)
		case n.Passed(at):
			forgotten = append(forgotten, index)
		case array.State == job.Queued:
			waiting = append(waiting, index)
		default:
			cancelled = append(cancelled, index)
		}
	}
	out.Forgotten, out.ForgottenTasks = len(forgotten), job.FormatTasks(forgotten)
	if len(cancelled) > 0 {
		out.Tasks = append(out.Tasks, api.TaskGroup{
			State: job.Cancelled, Sentence: "cancelled before the start",
			Count: len(cancelled), Tasks: job.FormatTasks(cancelled),
		})
	}
	if len(waiting) > 0 {
		out.Tasks = append(out.Tasks, api.TaskGroup{
			State: job.Queued, Sentence: words.Why(array.Reasons), Count: len(waiting), Tasks: job.FormatTasks(waiting),
		})
	}
}

// runTimes returns the least, the greatest and the median run time.
func runTimes(runs []time.Duration) *api.RunTimes {
	if len(runs) == 0 {
		return nil
	}
	slices.Sort(runs)
	n := len(runs)
	median := (runs[(n-1)/2] + runs[n/2]) / 2
	return &api.RunTimes{
		Of: n, Median: median.Seconds(), Shortest: runs[0].Seconds(), Longest: runs[n-1].Seconds(),
	}
}

package onslurm

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// displayName returns the id that users see and type.
func displayName(j *api.Job) string {
	if j.Task != nil {
		return j.Task.Name
	}
	return j.ID.String()
}

// byNames returns jobs by their ids, each job once. The id of an array selects all its tasks.
// Within a range, ids that do not exist are skipped.
func (e *Engine) byNames(ctx context.Context, words []string) ([]api.Job, error) {
	var ids []string
	for _, word := range words {
		if strings.Contains(word, "_") {
			ids = append(ids, word)
			continue
		}
		list, err := job.ParseIDs(word)
		if err != nil {
			return nil, &api.Error{Code: api.CodeUsage, Message: err.Error()}
		}
		for _, id := range list {
			ids = append(ids, id.String())
		}
	}
	found := map[string]api.Job{}
	for some := range slices.Chunk(ids, maxIDsPerCall) {
		list, err := e.lookUp(ctx, some)
		if err != nil {
			return nil, err
		}
		maps.Copy(found, list)
	}
	var jobs []api.Job
	for _, id := range ids {
		if j, ok := found[id]; ok {
			jobs = append(jobs, j)
			delete(found, id)
		}
	}
	return jobs, nil
}

// maxIDsPerCall is the maximum number of job ids on one command line.
const maxIDsPerCall = 1000

// lookUp finds jobs by their ids. It asks the accounting
// for jobs that the controller has forgotten.
func (e *Engine) lookUp(ctx context.Context, ids []string) (map[string]api.Job, error) {
	list, err := e.queue(ctx, "--states=all", "--jobs="+strings.Join(ids, ","))
	if err != nil {
		return nil, err
	}
	found := indexByName(list, ids)
	var missing []string
	for _, id := range ids {
		if _, ok := found[id]; !ok {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		past, _ := e.askAccounting(ctx, "--jobs="+strings.Join(missing, ","), "--starttime=1970-01-02")
		maps.Copy(found, indexByName(past, missing))
	}
	return found, nil
}

// indexByName returns the jobs with these ids. The first argument must contain all tasks of their
// arrays.
func indexByName(list []api.Job, ids []string) map[string]api.Job {
	found, tasks := map[string]api.Job{}, map[job.ID][]api.Job{}
	for _, j := range list {
		switch {
		case j.Task != nil:
			found[j.Task.Name] = j
			tasks[j.Task.Array] = append(tasks[j.Task.Array], j)
		case j.Array != nil:
			tasks[j.ID] = append(tasks[j.ID], j)
		default:
			found[j.ID.String()] = j
		}
	}
	for id, parts := range tasks {
		found[id.String()] = arrayOf(id, parts)
	}
	for _, id := range ids {
		array, index, isTask := strings.Cut(id, "_")
		if _, ok := found[id]; ok || !isTask {
			continue
		}
		n, err1 := job.ParseID(array)
		i, err2 := strconv.Atoi(index)
		if whole, ok := waitingTask(tasks[n], i); ok && err1 == nil && err2 == nil {
			found[id] = whole
		}
	}
	return found
}

// waitingTask returns a task that has not started, as a separate job.
func waitingTask(parts []api.Job, index int) (api.Job, bool) {
	for _, j := range parts {
		if j.Array == nil || !parseTasks(j.Array.Spec).Has(index) {
			continue
		}
		t := job.Task{Array: j.ID, Index: index}
		j.Array, j.Task, j.ID = nil, &api.Task{Task: t, Name: t.String()}, 0
		return j, true
	}
	return api.Job{}, false
}

// parseTasks parses "0-5%2", "1-9:2" or "1,3,5". It
// ignores the limit. Slurm may have cut the list off.
func parseTasks(spec string) *job.Array {
	a := &job.Array{}
	spec, _, _ = strings.Cut(spec, "%")
	for part := range strings.SplitSeq(strings.Trim(spec, "[]"), ",") {
		span, step, _ := strings.Cut(part, ":")
		lo, hi, isRange := strings.Cut(span, "-")
		first, err := strconv.Atoi(lo)
		if err != nil {
			continue // "..." marks where Slurm has cut the list off
		}
		last := first
		if isRange {
			last, _ = strconv.Atoi(hi)
		}
		by, _ := strconv.Atoi(step)
		if last = min(last, job.MaxTaskIndex); first >= 0 && first <= last {
			a.Ranges = append(a.Ranges, job.Range{First: first, Last: last, Step: max(1, by)})
		}
	}
	return a
}

// formatTasks formats a list of tasks and their limit,
// such as "0-2,5%2". The list may have any order.
func formatTasks(list []job.Range, limit int) string {
	slices.SortFunc(list, func(x, y job.Range) int { return cmp.Compare(x.First, y.First) })
	a := &job.Array{Limit: limit}
	for _, r := range list {
		if r.First+r.Step > r.Last { // the range has a single task
			r.Last, r.Step = r.First, 1
		}
		if end := len(a.Ranges) - 1; end >= 0 && r.Step == 1 && a.Ranges[end].Step == 1 && r.First <= a.Ranges[end].Last+1 {
			a.Ranges[end].Last = max(a.Ranges[end].Last, r.Last)
			continue
		}
		a.Ranges = append(a.Ranges, r)
	}
	return a.Spec()
}

// arrayOf combines the parts of an array: the tasks that
// Slurm has already made separate jobs, and the rest.
func arrayOf(id job.ID, parts []api.Job) api.Job {
	j := parts[0]
	a := &api.Array{}
	var indexes []job.Range
	var rest *api.Job
	var last time.Time
	j.Result, j.Task, j.GPUs = nil, nil, nil
	j.Reasons, j.Why = nil, ""
	bad := -1
	for i := range parts {
		p := &parts[i]
		if p.Array != nil {
			a.Limit = p.Array.Limit
			if rest == nil || !p.State.Terminal() {
				rest = p
			}
			indexes = append(indexes, parseTasks(p.Array.Spec).Ranges...)
			a.Size += p.Array.Size
			continue
		}
		a.Size, a.Next = a.Size+1, a.Next+1
		indexes = append(indexes, job.Range{First: p.Task.Index, Last: p.Task.Index, Step: 1})
		switch {
		case !p.State.Terminal():
			a.Live++
		case p.State != job.Completed:
			a.Failed++
			if bad < 0 || p.Task.Index < parts[bad].Task.Index {
				bad = i
			}
		}
		if p.EndedAt.After(last) {
			last = p.EndedAt
		}
	}
	a.Spec = formatTasks(indexes, a.Limit)
	j.ID, j.Array, j.State = id, a, job.Spawned
	switch {
	case rest != nil && (a.Live == 0 || !rest.State.Terminal()): // if the rest was cancelled, other tasks may still run
		j = *rest
		j.ID, j.Array = id, a
	case a.Live == 0 && a.Failed == 0:
		j.State, j.EndedAt = job.Completed, last
		j.Result = withSentence(api.Result{Result: job.Result{Outcome: job.Completed, Detail: job.Text("all tasks have")}})
	case a.Live == 0:
		j.State, j.EndedAt = job.Failed, last
		r := *parts[bad].Result
		r.Outcome, r.Said = job.Failed, job.Message{}
		r.Detail = job.Text(fmt.Sprintf("%d of %d tasks did not complete, the first of them %s: %s",
			a.Failed, a.Size, parts[bad].Task.Name, r.Sentence))
		j.Result = withSentence(r)
	}
	return j
}

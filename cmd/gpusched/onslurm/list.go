package onslurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// queue asks squeue for jobs. That no job has a number is an empty answer.
func (e *Engine) queue(ctx context.Context, args ...string) (jobs []api.Job, err error) {
	err = e.eachRow(ctx, wholeJob, args, func(r *row) { jobs = append(jobs, e.job(r)) })
	if err != nil {
		return nil, err
	}
	return jobs, nil
}

// job is that of a row, as it is named here.
func (e *Engine) job(r *row) api.Job {
	j := r.job()
	j.Engine = e.Names
	return j
}

func (e *Engine) rowsOf(ctx context.Context, columns []column, args ...string) (list []row, err error) {
	err = e.eachRow(ctx, columns, args, func(r *row) { list = append(list, *r) })
	if err != nil {
		return nil, err
	}
	return list, nil
}

// eachRow tells the rows of squeue's answer while that is printed, each until the next one. An error says that they
// are not all of them, or none.
func (e *Engine) eachRow(ctx context.Context, columns []column, args []string, take func(*row)) error {
	between := parting()
	how := []string{"--noheader", "--all", "--sort=-p,i", "--Format=" + format(columns, between)}
	a := newAnswer(columns, between, take)
	talk, err := e.read(ctx, readTime, nil, a, "squeue", append(how, args...)...)
	switch {
	case a.rows == 0 && isCode(err, api.CodeNotFound):
		return nil
	case err != nil && !isCode(err, api.CodeNotFound):
		return err
	case a.rows == 0 && !isTalk("squeue", talk): // who knows whether that is why there is none
		return unreadable("squeue", talk)
	}
	return a.end()
}

func isCode(err error, code api.Code) bool {
	var e *api.Error
	return errors.As(err, &e) && e.Code == code
}

// List returns the jobs that match, as the daemon would: those that run, those that wait in the order in
// which Slurm ranks them, then ended ones, the newest first. Of an array what has not started is one entry.
func (e *Engine) List(ctx context.Context, q api.ListQuery) (api.ListReply, error) {
	reply := api.ListReply{Schema: api.Schema, Jobs: []api.Job{}, GPUs: []api.GPU{}}
	all, omitted, err := e.selected(ctx, q)
	if err != nil {
		return reply, err
	}
	if q.Recent {
		reply.Recent = e.recent(all)
	}
	reply.Omitted = omitted
	ended, waiting, kept := 0, 0, 0
	for i := range all {
		j := &all[i]
		switch {
		case !matches(j, &q):
			continue
		case j.State.Terminal() && q.IDs == "":
			if ended++; ended > q.Ended {
				continue
			}
		case j.State == job.Queued && q.Waiting > 0:
			if waiting++; waiting > q.Waiting {
				reply.Omitted++
				continue
			}
		}
		all[kept] = *j
		kept++
	}
	if kept > 0 {
		reply.Jobs = all[:kept] // in a document [], not null
	}
	if q.Reasons {
		shown := append(slices.Clip(reply.Jobs), e.besides(ctx, reply.Jobs, &q)...)
		reply.GPUs = e.placed(ctx, shown, reply.Omitted)
		copy(reply.Jobs, shown)
	}
	return reply, nil
}

// besides are the jobs that are on GPUs and that a query leaves out.
func (e *Engine) besides(ctx context.Context, asked []api.Job, q *api.ListQuery) (others []api.Job) {
	if q.UID == nil && q.User == "" && q.Name == "" && q.Like == "" && q.IDs == "" && q.Array == 0 &&
		len(q.States) == 0 && len(q.Tags) == 0 {
		return nil
	}
	has := map[job.ID]bool{}
	for i := range asked {
		has[asked[i].ID] = true
	}
	live, err := e.queue(ctx, onGPUs)
	if err != nil {
		return nil // the jobs are what was wanted
	}
	return slices.DeleteFunc(live, func(j api.Job) bool { return has[j.ID] })
}

// onGPUs has squeue tell the jobs that have their GPUs.
const onGPUs = "--states=running,suspended,completing"

// selected are the jobs of a query in their order, and perhaps others. Of jobs that wait behind as many as are asked
// for it makes none, and counts them as omitted.
func (e *Engine) selected(ctx context.Context, q api.ListQuery) (list []api.Job, omitted int, err error) {
	if q.IDs != "" {
		list, err = e.named(ctx, strings.Split(q.IDs, ","))
		return list, 0, err
	}
	var args []string
	if q.Ended > 0 || q.Recent {
		args = append(args, "--states=all")
	}
	switch {
	case q.Array != 0:
		args = append(args, "--jobs="+q.Array.String())
	case q.UID != nil:
		args = append(args, "--user="+strconv.Itoa(*q.UID))
	case q.User != "":
		args = append(args, "--user="+q.User)
	}
	columns, waiting := wholeJob, 0
	if q.Names {
		columns = whichJob
	}
	all := q.Name == "" && q.Like == "" && len(q.States) == 0 && len(q.Tags) == 0 && q.Array == 0
	err = e.eachRow(ctx, columns, args, func(r *row) {
		if all && q.Waiting > 0 && stateOf(r[colState]) == job.Queued {
			if waiting++; waiting > q.Waiting {
				omitted++
				return
			}
		}
		list = append(list, e.job(r))
	})
	if err != nil {
		return nil, 0, err
	}
	if q.Ended > 0 {
		list = e.withPast(ctx, list, q)
	}
	InOrder(list, byStart)
	return list, omitted, nil
}

// byStart is the order of jobs that run.
func byStart(x, y *api.Job) int { return x.StartedAt.Compare(y.StartedAt) }

// InOrder puts what runs first, by an order of its own, nil for as it comes, then what waits as it comes, then what
// has ended, the newest first.
func InOrder(list []api.Job, running func(x, y *api.Job) int) {
	order := func(x, y *api.Job) int {
		switch c := cmp.Compare(rank(x), rank(y)); {
		case c != 0:
			return c
		case rank(x) == 2:
			return y.EndedAt.Compare(x.EndedAt)
		case rank(x) == 0 && running != nil:
			return running(x, y)
		}
		return 0
	}
	sorted := true
	all := make([]*api.Job, len(list)) // jobs are large
	for i := range list {
		all[i] = &list[i]
		sorted = sorted && (i == 0 || order(all[i-1], all[i]) <= 0)
	}
	if sorted {
		return
	}
	slices.SortStableFunc(all, order)
	out := make([]api.Job, len(list))
	for i, j := range all {
		out[i] = *j
	}
	copy(list, out)
}

// rank is that of a job's state in a list.
func rank(j *api.Job) int {
	switch {
	case j.State.Terminal():
		return 2
	case j.State == job.Queued:
		return 1
	}
	return 0
}

// matches reports whether a job is one of those that a query asks for.
func matches(j *api.Job, q *api.ListQuery) bool {
	switch {
	case q.UID != nil && j.UID != *q.UID && j.User != "":
		return false
	case q.User != "" && j.User != q.User,
		q.Name != "" && j.Name != q.Name,
		len(q.States) > 0 && !slices.Contains(q.States, j.State),
		q.Array != 0 && (j.Task == nil || j.Task.Array != q.Array),
		!q.Since.IsZero() && j.State.Terminal() && j.EndedAt.Before(q.Since):
		return false
	}
	for key, value := range q.Tags {
		if j.Tags[key] != value {
			return false
		}
	}
	like, err := path.Match(q.Like, j.Name)
	return q.Like == "" || err == nil && like
}

// recent counts the caller's jobs that ended within the last hour, as far as Slurm's controller still has them.
func (e *Engine) recent(list []api.Job) *api.Recent {
	r := &api.Recent{Since: time.Now().Add(-time.Hour).UTC()}
	for i := range list {
		j := &list[i]
		if j.UID != e.uid || !j.State.Terminal() || j.EndedAt.Before(r.Since) {
			continue
		}
		r.Ended++
		if j.State != job.Completed && j.State != job.Cancelled {
			r.Failed++
		}
	}
	return r
}

// IDs returns what the jobs that match are called, a line each.
func (e *Engine) IDs(ctx context.Context, q api.ListQuery) ([]byte, error) {
	q.Names = true
	reply, err := e.List(ctx, q)
	var lines []byte
	for i := range reply.Jobs {
		j := &reply.Jobs[i]
		if j.Engine != "" {
			lines = append(append(lines, j.Engine...), ':')
		}
		lines = append(append(lines, called(j)...), '\n')
	}
	return lines, err
}

// called is what people call a job.
func called(j *api.Job) string {
	if j.Task != nil {
		return j.Task.Name
	}
	return j.ID.String()
}

// named are jobs by their names, each once; an array is one that stands for its tasks. A range names those
// of it that there are.
func (e *Engine) named(ctx context.Context, words []string) ([]api.Job, error) {
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
	for some := range slices.Chunk(ids, mostNamed) {
		list, err := e.lookUp(ctx, some)
		if err != nil {
			return nil, err
		}
		for name, j := range list {
			found[name] = j
		}
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

// mostNamed is how many jobs one call names: what a command line has room for.
const mostNamed = 1000

// lookUp finds jobs by their names, with those that the controller has forgotten, as far as the accounting
// has them.
func (e *Engine) lookUp(ctx context.Context, ids []string) (map[string]api.Job, error) {
	list, err := e.queue(ctx, "--states=all", "--jobs="+strings.Join(ids, ","))
	if err != nil {
		return nil, err
	}
	found := pick(list, ids)
	var missing []string
	for _, id := range ids {
		if _, ok := found[id]; !ok {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		past, _ := e.past(ctx, "--jobs="+strings.Join(missing, ","), "--starttime=1970-01-02")
		for name, j := range pick(past, missing) {
			found[name] = j
		}
	}
	return found, nil
}

// pick finds jobs by their names among those that squeue or sacct has for them: for an array, all its tasks.
func pick(list []api.Job, ids []string) map[string]api.Job {
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
		if whole, ok := waitingPart(tasks[n], i); ok && err1 == nil && err2 == nil {
			found[id] = whole
		}
	}
	return found
}

// waitingPart is a task that has not started, as a job of its own.
func waitingPart(parts []api.Job, index int) (api.Job, bool) {
	for _, j := range parts {
		if j.Array == nil || !holds(j.Array.Spec, index) {
			continue
		}
		t := job.Task{Array: j.ID, Index: index}
		j.Array, j.Task, j.ID = nil, &api.Task{Task: t, Name: t.String()}, 0
		return j, true
	}
	return api.Job{}, false
}

// tasks are numbers of tasks: first, first+step and so on, up to last.
type tasks struct{ first, last, step int }

// count is how many there are.
func (t tasks) count() int { return (t.last-t.first)/t.step + 1 }

// holds reports whether a number is among tasks.
func holds(spec string, index int) bool {
	return slices.ContainsFunc(tasksIn(spec), func(t tasks) bool {
		return t.first <= index && index <= t.last && (index-t.first)%t.step == 0
	})
}

// tasksIn are the numbers in "0-5%2", "1-9:2" or "1,3,5"; of a list that Slurm has cut, those that it shows.
func tasksIn(spec string) (list []tasks) {
	spec, _, _ = strings.Cut(spec, "%")
	for part := range strings.SplitSeq(strings.Trim(spec, "[]"), ",") {
		span, step, _ := strings.Cut(part, ":")
		lo, hi, isRange := strings.Cut(span, "-")
		first, err := strconv.Atoi(lo)
		if err != nil {
			continue // "..."
		}
		last := first
		if isRange {
			last, _ = strconv.Atoi(hi)
		}
		by, _ := strconv.Atoi(step)
		if last = min(last, job.MaxTaskIndex); first >= 0 && first <= last {
			list = append(list, tasks{first, last, max(1, by)})
		}
	}
	return list
}

// sizeOf counts them.
func sizeOf(list []tasks) (n int) {
	for _, t := range list {
		n += t.count()
	}
	return n
}

// spelled is a list of tasks with its limit, "0-2,5%2".
func spelled(list []tasks, limit int) string {
	slices.SortFunc(list, func(x, y tasks) int { return cmp.Compare(x.first, y.first) })
	var merged []tasks
	for _, t := range list {
		if t.count() == 1 {
			t.last, t.step = t.first, 1
		}
		if end := len(merged) - 1; end >= 0 && t.step == 1 && merged[end].step == 1 && t.first <= merged[end].last+1 {
			merged[end].last = max(merged[end].last, t.last)
			continue
		}
		merged = append(merged, t)
	}
	text := joinTasks(merged)
	if limit > 0 {
		text += fmt.Sprintf("%%%d", limit)
	}
	return text
}

func joinTasks(list []tasks) string {
	parts := make([]string, len(list))
	for i, t := range list {
		parts[i] = strconv.Itoa(t.first)
		if t.last > t.first {
			parts[i] += "-" + strconv.Itoa(t.last)
		}
		if t.step > 1 {
			parts[i] += ":" + strconv.Itoa(t.step)
		}
	}
	return strings.Join(parts, ",")
}

// arrayOf is an array by its parts: the tasks that Slurm has made jobs, and the rest.
func arrayOf(id job.ID, parts []api.Job) api.Job {
	j := parts[0]
	a := &api.Array{}
	var indexes []tasks
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
			indexes = append(indexes, tasksIn(p.Array.Spec)...)
			a.Size += p.Array.Size
			continue
		}
		a.Size, a.Next = a.Size+1, a.Next+1
		indexes = append(indexes, tasks{p.Task.Index, p.Task.Index, 1})
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
	a.Spec = spelled(indexes, a.Limit)
	j.ID, j.Array, j.State = id, a, job.Spawned
	switch {
	case rest != nil && (a.Live == 0 || !rest.State.Terminal()): // where it was cancelled, tasks may run
		j = *rest
		j.ID, j.Array = id, a
	case a.Live == 0 && a.Failed == 0:
		j.State, j.EndedAt = job.Completed, last
		j.Result = &api.Result{Result: job.Result{Outcome: job.Completed}, Sentence: "completed: all tasks have"}
	case a.Live == 0:
		j.State, j.EndedAt = job.Failed, last
		r := *parts[bad].Result
		r.Outcome = job.Failed
		r.Sentence = fmt.Sprintf("failed: %d of %d tasks did not complete, the first of them %s: %s",
			a.Failed, a.Size, parts[bad].Task.Name, r.Sentence)
		j.Result = &r
	}
	return j
}

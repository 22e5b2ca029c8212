package cli

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Resolve turns arguments that name jobs into the names that the daemon uses, "12" or "7_3". It
// keeps the order and removes duplicates.
func (a *App) Resolve(ctx context.Context, words []string) ([]string, error) {
	var ids []string
	seen := map[string]bool{}
	for _, word := range words {
		found, err := a.resolveWord(ctx, word)
		if err != nil {
			return nil, err
		}
		for _, id := range found {
			if !seen[id] {
				ids, seen[id] = append(ids, id), true
			}
		}
	}
	return ids, nil
}

// Job finds the job that a command is about. If several jobs have the name, it finds the newest.
func (a *App) Job(ctx context.Context, word string) (api.JobReply, error) {
	return a.Ask(ctx, word, api.JobQuery{})
}

func (a *App) Show(ctx context.Context) func(id string) (api.JobReply, error) {
	return func(id string) (api.JobReply, error) { return api.Show(ctx, a.Client, id, api.JobQuery{}) }
}

// Ask is like Job, but the caller chooses what to ask about the job.
func (a *App) Ask(ctx context.Context, word string, q api.JobQuery) (api.JobReply, error) {
	ids, err := a.resolveWord(ctx, word)
	if err != nil {
		return api.JobReply{}, err
	}
	if word = a.withoutHost(word); len(ids) > 1 && !strings.HasPrefix(word, "name:") {
		return api.JobReply{}, Usagef("%q names several jobs, and this command takes one", word)
	}
	return api.Show(ctx, a.Client, ids[len(ids)-1], q)
}

func (a *App) resolveWord(ctx context.Context, word string) ([]string, error) {
	if namesSlurm(word) {
		if err := a.CheckSlurms(word); err != nil {
			return nil, err
		}
		if word = strings.TrimPrefix(word, SlurmPrefix); !strings.HasPrefix(word, "name:") {
			word = strings.ReplaceAll(word, ","+SlurmPrefix, ",")
		}
	}
	word = a.withoutHost(word)
	if host, _, named := HostOf(word); named {
		return nil, Refuse(api.CodeUsage, "queues are not shared: submit jobs that need it there, with --host "+host,
			"%q is on another machine, whose jobs are not known here", word)
	}
	if name, ok := strings.CutPrefix(word, "name:"); ok {
		if name == "" {
			return nil, Usagef("name: is followed by no name, as in name:train")
		}
		return a.resolveName(ctx, name)
	}
	parts, err := splitTasks(word)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, part := range parts {
		found, err := a.resolvePart(ctx, part)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	return ids, nil
}

// CheckSlurms returns an error if the argument names jobs of Slurm and this run can't ask Slurm
// about them, or if the argument names jobs of Slurm and of another machine.
func (a *App) CheckSlurms(word string) error {
	switch {
	case !namesSlurm(word):
		return nil
	case a.asksSchedulers():
		return a.notSlurms(word)
	case namesMachine(word):
		return Refuse(api.CodeUsage, "use a separate command for each", "%q names jobs of Slurm's and of another machine", word)
	}
	return nil
}

// namesMachine reports whether any job in a list belongs to another machine.
func namesMachine(list string) bool {
	for part := range strings.SplitSeq(list, ",") {
		if strings.HasPrefix(strings.TrimPrefix(part, SlurmPrefix), "name:") {
			return false // the rest of the list is one job name
		}
		if _, _, named := HostOf(part); named {
			return true
		}
	}
	return false
}

// asksSchedulers reports whether a number without a machine means a job of gpusched. Otherwise it
// means a job of Slurm.
func (a *App) asksSchedulers() bool {
	_, is := a.Client.(*api.Client)
	return is
}

// notSlurms returns the error for a job of Slurm that this run can't ask about. Either an option
// has selected another scheduler, or the job is named in a script or file, which can't select an
// engine.
func (a *App) notSlurms(word string) error {
	hint := "to ask Slurm type the command as: gpusched " + OnFlag + " " + EngineSlurm + " …"
	switch {
	case a.Asked != nil:
		hint = "gpusched does not ask Slurm through another machine"
	case a.On == EngineLocal:
		hint = "name it without " + OnFlag + " " + EngineLocal
	case a.Own:
		hint = "name it without " + OwnFlag
	}
	return Refuse(api.CodeUsage, hint, "%q is a job of Slurm's", word)
}

// splitTasks splits a list of jobs at its commas. Numbers that follow a task are tasks of the same
// array, and so are numbers in brackets: 7_3,5 and 7_[3,5] both become 7_3 and 7_5.
func splitTasks(word string) (parts []string, err error) {
	array, inside := "", false
	for part := range strings.SplitSeq(word, ",") {
		name, tasks, isTask := strings.Cut(part, "_")
		switch {
		case isTask && inside:
			return nil, Usagef("%q: a bracket is open before %q", word, part)
		case isTask:
			array = name
			tasks, inside = strings.CutPrefix(tasks, "[")
		case strings.HasPrefix(part, "@") && !inside:
			array = ""
		default:
			tasks = part
		}
		closed := false
		if tasks, closed = strings.CutSuffix(tasks, "]"); closed && !inside {
			return nil, Usagef("%q: no bracket is open before %q (such as 7_[3,5-9])", word, part)
		}
		if inside {
			tasks, _, _ = strings.Cut(tasks, "%") // tables show an array as 7_[0-9%4]
		}
		if array == "" {
			parts = append(parts, part)
			continue
		}
		parts = append(parts, array+"_"+tasks)
		if closed {
			array, inside = "", false
		}
	}
	if inside {
		return nil, Usagef("%q: the bracket is not closed (such as 7_[3,5-9])", word)
	}
	return parts, nil
}

func (a *App) resolvePart(ctx context.Context, part string) ([]string, error) {
	if back, ok := strings.CutPrefix(part, "@"); ok {
		back, tasks, isTask := strings.Cut(back, "_")
		id, err := a.resolveLast(ctx, back)
		if isTask && err == nil {
			return tasksOf(id.String(), tasks)
		}
		return []string{id.String()}, err
	}
	if array, tasks, ok := strings.Cut(part, "_"); ok {
		return tasksOf(array, tasks)
	}
	if part == "" {
		return nil, Usagef("an id is missing next to a comma: write 12,14-16")
	}
	list, err := job.ParseIDs(part)
	if err != nil && strings.Trim(part, "0123456789-") != "" {
		return nil, Refuse(api.CodeUsage, "see 'gpusched list'",
			"%q is not a job: use its number (42), 7_3 for a task, @ for your last, or name:%s", part, part)
	}
	if err != nil {
		return nil, Usagef("%s", err)
	}
	return job.Each(list, job.ID.String), nil
}

// maxTaskRange is the largest number of tasks that a range such as 7_0-999999 may contain.
const maxTaskRange = 10_000

// tasksOf returns the names of tasks of an array. The tasks are given as "3", "3-5" or "0-8:4".
func tasksOf(array, tasks string) ([]string, error) {
	id, err := job.ParseID(array)
	step := uint64(1)
	if list, by, found := strings.Cut(tasks, ":"); found {
		if n, err := strconv.ParseUint(by, 10, 31); err == nil && n > 0 {
			tasks, step = list, n
		}
	}
	lo, hi, isRange := strings.Cut(tasks, "-")
	if !isRange {
		hi = lo
	}
	first, errFirst := strconv.ParseUint(lo, 10, 31)
	last, errLast := strconv.ParseUint(hi, 10, 31)
	switch {
	case err != nil || errFirst != nil || errLast != nil || last > job.MaxTaskIndex:
		return nil, Usagef("%q is not a task of an array: use 7_3, or 7_3-5 for several", array+"_"+tasks)
	case last < first || last-first >= maxTaskRange:
		return nil, Usagef("range %q is empty or too long (it names at most %d tasks)", array+"_"+tasks, maxTaskRange)
	}
	var ids []string
	for n := first; n <= last; n += step {
		ids = append(ids, job.Task{Array: id, Index: int(n)}.String())
	}
	return ids, nil
}

// To find @, gpusched requests more ended jobs than it needs, since ended jobs come in the order in
// which they ended and not in the order of submission. These are the numbers of additional jobs.
// The larger number is for users with large arrays.
const (
	recentMargin = 100
	widestMargin = 9_000
)

// resolveLast finds the caller's last submission. With "~N" it finds the submission N places
// earlier. An array counts as one submission.
func (a *App) resolveLast(ctx context.Context, back string) (job.ID, error) {
	n := 0
	if back != "" {
		digits, ok := strings.CutPrefix(back, "~")
		var err error
		if n, err = strconv.Atoi(digits); !ok || err != nil || n < 0 || n > 1000 {
			return 0, Usagef("%q is not a job: use @ for your last job, @~1 for the one before it", "@"+back)
		}
	}
	ids, all, err := a.recent(ctx, n+recentMargin)
	if err == nil && len(ids) <= n && !all {
		ids, _, err = a.recent(ctx, n+widestMargin)
	}
	if err != nil {
		return 0, err
	}
	if len(ids) <= n {
		return 0, NotFoundf("you have submitted %s", atMost(len(ids)))
	}
	return ids[len(ids)-1-n], nil
}

// recent returns the caller's submissions in the order of their numbers. It looks at no more than
// maxEnded ended jobs. The second result says whether it has found all submissions.
func (a *App) recent(ctx context.Context, maxEnded int) (ids []job.ID, complete bool, err error) {
	jobs, err := a.Mine(ctx, api.ListQuery{Ended: maxEnded})
	return submissions(jobs), len(jobs) < maxEnded, err
}

// submissions returns the jobs in the order of their numbers. An array and its tasks are one entry.
func submissions(jobs []api.Job) []job.ID {
	ids := make([]job.ID, len(jobs))
	for i, j := range jobs {
		if ids[i] = j.ID; j.Task != nil {
			ids[i] = j.Task.Array
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

func atMost(n int) string {
	if n == 0 {
		return "no job yet"
	}
	return "only " + Count(n, "job")
}

func (a *App) resolveName(ctx context.Context, name string) ([]string, error) {
	q := api.ListQuery{Name: name, Ended: 1}
	if isPattern(name) {
		q = api.ListQuery{Like: name, Ended: 1}
	}
	jobs, err := a.Mine(ctx, q)
	if err != nil {
		return nil, err
	}
	ended := func(j api.Job) bool { return j.State.Terminal() }
	ids := submissions(slices.DeleteFunc(slices.Clone(jobs), ended))
	if len(ids) == 0 && len(jobs) > 0 {
		ids = submissions(jobs[:1])
	}
	if len(ids) == 0 {
		return nil, NotFoundf("you have no job named %q", name)
	}
	return job.Each(ids, Number), nil
}

func (a *App) Mine(ctx context.Context, q api.ListQuery) ([]api.Job, error) {
	q.UID = &a.UID
	reply, err := api.List(ctx, a.Client, q)
	return reply.Jobs, err
}

func IsLive(j api.Job) bool { return !j.State.Terminal() }

func IsOn(j api.Job) bool { return j.State == job.Running }

// NameOfJob returns the name of a job for people: its number, or "7_3" for a task. If the job is on
// another machine or engine, the name of that machine or engine comes first ("a:7_3", "slurm:7_3").
func NameOfJob(j api.Job) string { return j.Called() }

// NumberOfJob is like NameOfJob, but a task has its own job number instead of "7_3".
func NumberOfJob(j api.Job) string { return NameAt(j.Queue(), j.ID.String()) }

// Owns reports whether the caller owns a job. The caller does not own a job that was submitted when
// another account had the same uid.
func (a *App) Owns(j *api.Job) bool { return j.UID == a.UID && j.UIDNow == "" }

// WaitsAgain reports whether all tasks of an array have started once and some of them wait again.
func WaitsAgain(j api.Job) bool {
	return j.State == job.Spawned && j.Array != nil && j.Array.Waiting > 0
}

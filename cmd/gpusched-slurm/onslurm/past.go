package onslurm

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/slurmexec"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// pastFields are the fields of a job in sacct, with the column of each.
var pastFields = []struct {
	name string
	column
}{
	{"JobIDRaw", colJobID}, {"JobID", colCalled}, {"JobName", colName}, {"User", colUserName}, {"UID", colUserID}, {"State", colState},
	{"Submit", colSubmitTime}, {"Eligible", colUnused}, {"Start", colStartTime}, {"End", colEndTime}, {"Timelimit", colTimeLimit},
	{"ReqTRES", colTresAlloc}, {"NCPUS", colNumCPUs}, {"NodeList", colNodeList}, {"ExitCode", colExitStatus}, {"Comment", colComment},
	{"Partition", colUnused}, {"Reason", colReason}, {"Priority", colUnused},
}

// askAccounting asks the accounting for jobs. It fails if there is no accounting.
func (e *Engine) askAccounting(ctx context.Context, args ...string) ([]api.Job, error) {
	names := make([]string, len(pastFields))
	for i, f := range pastFields {
		names[i] = f.name
	}
	sep := newSeparator()
	out, err := e.slurm.Ask(ctx, "sacct", append([]string{
		"--allocations", "--noheader", "--parsable2", "--delimiter=" + sep, "--allusers", "--duplicates",
		"--format=" + strings.Join(names, ",")}, args...)...)
	if err != nil {
		return nil, err
	}
	list, err := pastJobs(out, sep)
	for i := range list {
		list[i].Engine = e.Names
	}
	if err != nil {
		e.note(err.Error()) // callers continue without the accounting
	}
	return list, err
}

// pastRows splits the output of sacct into the values of its rows. The
// last value of a row ends at a newline. This newline is certain, because
// neither that value nor the first value of a row is a user's text.
func pastRows(text, sep string, fields int) (list [][]string, err error) {
	values := strings.Split(text, sep)
	if len(values) == 1 && isTalk("sacct", values[0]) {
		return nil, nil
	}
	last := fields - 1
	for ; len(values) > last; values = values[last:] {
		end, next, _ := strings.Cut(values[last], "\n")
		list = append(list, append(slices.Clone(values[:last]), end))
		values[last] = next
	}
	if len(values) != 1 || strings.TrimSpace(values[0]) != "" {
		return nil, unreadable("sacct", values[0])
	}
	return list, nil
}

func pastJobs(text []byte, sep string) (list []api.Job, err error) {
	table, err := pastRows(string(text), sep, len(pastFields))
	for _, values := range table {
		var r row
		for i, f := range pastFields {
			r[f.column] = slurmexec.Known(strings.TrimSpace(values[i]))
		}
		if !r.hasID() {
			return nil, unreadable("sacct", values[0])
		}
		r[colNodeList] = strings.TrimPrefix(r[colNodeList], "None assigned")
		if array, task, ok := strings.Cut(r[colCalled], "_"); ok {
			r[colArrayJobID], r[colArrayTaskID] = array, strings.Trim(task, "[]")
		}
		code, signal, _ := strings.Cut(r[colExitStatus], ":")
		c, _ := strconv.Atoi(code)
		s, _ := strconv.Atoi(signal)
		r[colExitCode] = strconv.Itoa(c<<8 | s&0x7f)
		list = append(list, r.job())
	}
	return list, err
}

// withPast adds the jobs that the controller has forgotten but the accounting has.
func (e *Engine) withPast(ctx context.Context, list []api.Job, q api.ListQuery) []api.Job {
	since := q.Since
	if since.IsZero() {
		since = time.Now().Add(-7 * 24 * time.Hour)
	}
	args := []string{"--starttime=" + localTime(since), "--state=" + strings.Join(endedStates, ",")}
	if q.UID != nil {
		args = append(args, "--uid="+strconv.Itoa(*q.UID))
	}
	if q.User != "" {
		args = append(args, "--user="+q.User)
	}
	past, err := e.askAccounting(ctx, args...)
	if err != nil {
		return list // without accounting, only the controller's jobs are known
	}
	have := map[job.ID]bool{}
	for i := range list {
		have[list[i].ID] = true
	}
	for _, j := range past {
		if !have[j.ID] {
			list = append(list, j)
		}
	}
	return list
}

// endedStates are the states for which sacct is asked.
var endedStates = []string{
	"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT",
}

// localTime formats a time as Slurm's programs expect it.
func localTime(t time.Time) string { return t.Local().Format("2006-01-02T15:04:05") }

// history returns, in one answer, all ended jobs that match. They come from the accounting or, if
// there is none, from the controller, which has forgotten older jobs.
func (e *Engine) history(ctx context.Context, q api.HistoryQuery) (api.HistoryReply, error) {
	reply := api.HistoryReply{Schema: api.Schema, Jobs: []api.PastJob{}}
	if q.Attempts {
		return reply, e.Refusal("history --attempts")
	}
	list := api.ListQuery{IDs: q.IDs, Array: q.Array, Ended: math.MaxInt, User: q.User, UID: q.UID, States: q.States}
	list.Name, list.Since = q.Name, q.Since
	all, err := e.list(ctx, list)
	if err != nil {
		return reply, err
	}
	key, value, hasValue := strings.Cut(q.Tag, "=")
	for _, j := range all.Jobs {
		tagged, isTagged := j.Tags[key]
		switch {
		case !j.State.Terminal() || j.Array != nil,
			!q.Until.IsZero() && !j.EndedAt.Before(q.Until),
			q.Tag != "" && (!isTagged || hasValue && tagged != value):
			continue
		}
		reply.Jobs = append(reply.Jobs, pastJob(j))
	}
	if q.Order != "newest" {
		slices.Reverse(reply.Jobs)
	}
	if q.Limit > 0 && len(reply.Jobs) > q.Limit {
		reply.Jobs = reply.Jobs[:q.Limit]
	}
	return reply, nil
}

func pastJob(j api.Job) api.PastJob {
	p := api.PastJob{Job: j, EligibleAt: j.QueuedAt}
	if !j.StartedAt.IsZero() {
		wait, elapsed := j.StartedAt.Sub(j.QueuedAt).Seconds(), j.EndedAt.Sub(j.StartedAt).Seconds()
		p.WaitSeconds, p.ElapsedSeconds = &wait, &elapsed
		p.GPUSeconds = elapsed * float64(j.GPUMilli) / job.WholeGPU
		if j.TimeLimit > 0 {
			percent := 100 * elapsed / j.TimeLimit.Duration().Seconds()
			p.Efficiency.Time = &percent
		}
	}
	return p
}

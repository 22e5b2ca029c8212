package store

import (
	"database/sql"
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// jobColumns are the columns of the table jobs that the store writes. The last columns are copies
// of other values, for look-ups and reports.
const jobColumns = "id, key, uid, gid, user, owner_groups, name, state, submitted_at, changed_at, stop, stop_by, attempt, label, request, life, result, " +
	"array_id, task_index, dedup, class, gpu_milli, gpu_mem_bytes, mem_bytes, cpus, time_limit_ns"

// jobQuery reads jobs with the numbers of their current attempts. A clause must follow it, and may
// use the columns of j. jobQuery must never read payloads (invariant 4).
const jobQuery = `SELECT j.id, j.key, j.uid, j.gid, j.user, j.owner_groups, j.name, j.state, j.submitted_at, j.changed_at, j.stop, j.stop_by,
 j.attempt, j.label, j.request, j.life, j.result FROM jobs j `

// jobArgs returns the values of jobColumns.
func jobArgs(j *job.Job) ([]any, error) {
	if j.ID < 1 || !j.State.Valid() {
		return nil, fmt.Errorf("%w: id %d in state %q", job.ErrInvalid, j.ID, j.State)
	}
	if j.State.Terminal() != (j.Result != nil) {
		return nil, fmt.Errorf("%w: state %q and result %v do not belong together", job.ErrInvalid, j.State, j.Result)
	}
	e := encoder{}
	groups, label, request, life := listJSON(&e, j.Owner.Groups), e.json(&j.Label), e.json(requestOf(j)), e.json(&j.Life)
	if j.Tasks != nil {
		life = pad(life)
	}
	result := e.result(j.Result)
	attempt := 0
	if j.Attempt != nil {
		attempt = j.Attempt.Number
	}
	var array, index any
	if j.Task != nil {
		array, index = int64(j.Task.Array), j.Task.Index
	}
	r := &j.Request
	return []any{int64(j.ID), j.Key, j.Owner.UID, j.Owner.GID, j.Owner.User, groups, j.Label.Name, string(j.State),
		formatTime(j.SubmittedAt), formatTime(j.ChangedAt), string(j.Stop), j.StopBy, attempt, label, request, life, result,
		array, index, r.Dedup, r.Priority.Class.String(), r.GPUMilli, r.GPUMemBytes, r.MemBytes, r.CPUs,
		int64(r.TimeLimit)}, e.err
}

// requestOf returns the job's request. For a task, it omits the values that the task has from its
// array. With these values, parameters of a hundred kilobytes would be written with each of a
// hundred thousand tasks.
func requestOf(j *job.Job) *job.Request {
	if j.Task == nil {
		return &j.Request
	}
	r := j.Request
	r.Array = nil
	return &r
}

// pad adds blanks to a document, so that its length rarely changes. If a row keeps its length,
// SQLite writes only the pages that differ. This matters for the row of an array, because the row
// is written at each start and end of a task, and its parameters can take a hundred kilobytes.
func pad(doc string) string {
	const step = 512
	return doc + strings.Repeat(" ", (step-len(doc)%step)%step)
}

// jobText has the columns of jobQuery that must be decoded. It also has the stop and the number of
// the attempt, which are parts of decoded values.
type jobText struct {
	groups, submitted, changed, label, request, life string
	stop                                             job.StopCause
	stopBy                                           string

	result  sql.NullString
	attempt int64
}

// scanJob reads one row of jobQuery. The only field of the attempt that it sets is the number.
func scanJob(rows *sql.Rows) (j job.Job, err error) {
	var t jobText
	err = rows.Scan(&j.ID, &j.Key, &j.Owner.UID, &j.Owner.GID, &j.Owner.User, &t.groups, &j.Label.Name, &j.State,
		&t.submitted, &t.changed, &t.stop, &t.stopBy, &t.attempt, &t.label, &t.request, &t.life, &t.result)
	if err != nil {
		return j, err
	}
	return j, t.decode(&j)
}

// decode sets the rest of j. The only field of the attempt that it sets is the number.
func (t *jobText) decode(j *job.Job) error {
	d := decoder{}
	d.list(&j.Owner.Groups, t.groups)
	d.time(&j.SubmittedAt, t.submitted)
	d.time(&j.ChangedAt, t.changed)
	d.json(&j.Label, t.label)
	d.json(&j.Request, t.request)
	d.json(&j.Life, t.life)
	j.Stop, j.StopBy = t.stop, t.stopBy
	d.result(&j.Result, t.result)
	if t.attempt != 0 {
		j.Attempt = &job.Attempt{Number: int(t.attempt)}
	}
	if d.err != nil {
		return fmt.Errorf("job %d: %w", j.ID, d.err)
	}
	return nil
}

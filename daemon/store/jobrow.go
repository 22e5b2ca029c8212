package store

import (
	"database/sql"
	"fmt"

	"github.com/gpusched/gpusched/daemon/job"
)

// jobColumns are the columns of jobs that are written. The last three are
// copies for look-ups.
const jobColumns = "id, key, uid, gid, user, owner_groups, name, state, submitted_at, changed_at, stop, stop_by, attempt, label, request, life, result, array_id, task_index, dedup"

// jobQuery reads jobs with their current attempts. A clause that names j's
// columns follows. It must never read payloads (invariant 4).
const jobQuery = `SELECT j.id, j.key, j.uid, j.gid, j.user, j.owner_groups, j.name, j.state, j.submitted_at, j.changed_at, j.stop, j.stop_by,
 j.attempt, j.label, j.request, j.life, j.result, a.number, a.gpus, a.boot_id, a.invocation_id, a.placed_at, a.started_at, a.ended_at,
 a.result, a.peak_mem_bytes, a.cpu_time_ns
 FROM jobs j LEFT JOIN attempts a ON a.job_id = j.id AND a.number = j.attempt `

// jobArgs returns the values of jobColumns.
func jobArgs(j *job.Job) ([]any, error) {
	if j.ID < 1 || !j.State.Valid() {
		return nil, fmt.Errorf("%w: id %d in state %q", ErrInvalid, j.ID, j.State)
	}
	if j.State.Terminal() != (j.Result != nil) {
		return nil, fmt.Errorf("%w: state %q and result %v do not belong together", ErrInvalid, j.State, j.Result)
	}
	e := encoder{}
	groups, label, request, life := listJSON(&e, j.Owner.Groups), e.json(&j.Label), e.json(&j.Request), e.json(&j.Life)
	result := e.result(j.Result)
	attempt := 0
	if j.Attempt != nil {
		attempt = j.Attempt.Number
	}
	var array, index any
	if j.Task != nil {
		array, index = int64(j.Task.Array), j.Task.Index
	}
	return []any{int64(j.ID), j.Key, j.Owner.UID, j.Owner.GID, j.Owner.User, groups, j.Label.Name, string(j.State),
		formatTime(j.SubmittedAt), formatTime(j.ChangedAt), string(j.Stop), j.StopBy, attempt, label, request, life, result,
		array, index, j.Request.Dedup}, e.err
}

// jobText is those columns of jobQuery that need decoding, and what is NULL
// where a job has no attempt.
type jobText struct {
	groups, submitted, changed, label, request, life string
	result                                           sql.NullString

	attempt                                int64 // that jobs names
	number, peak, cpu                      sql.NullInt64
	gpus, boot, invocation                 sql.NullString
	placed, started, ended, attemptOutcome sql.NullString
}

// scan reads a row of jobQuery, what is plain into j and the rest into t.
func (t *jobText) scan(rows *sql.Rows, j *job.Job) error {
	return rows.Scan(&j.ID, &j.Key, &j.Owner.UID, &j.Owner.GID, &j.Owner.User, &t.groups, &j.Label.Name, &j.State, &t.submitted, &t.changed,
		&j.Stop, &j.StopBy, &t.attempt, &t.label, &t.request, &t.life, &t.result, &t.number, &t.gpus, &t.boot, &t.invocation,
		&t.placed, &t.started, &t.ended, &t.attemptOutcome, &t.peak, &t.cpu)
}

// scanJob reads one row of jobQuery.
func scanJob(rows *sql.Rows) (j job.Job, err error) {
	var t jobText
	if err := t.scan(rows, &j); err != nil {
		return j, err
	}
	return j, t.decode(&j)
}

// decode completes j.
func (t *jobText) decode(j *job.Job) error {
	d := decoder{}
	d.list(&j.Owner.Groups, t.groups)
	d.time(&j.SubmittedAt, t.submitted)
	d.time(&j.ChangedAt, t.changed)
	d.json(&j.Label, t.label)
	d.json(&j.Request, t.request)
	d.json(&j.Life, t.life)
	d.result(&j.Result, t.result)
	if d.err == nil && t.attempt != 0 {
		j.Attempt, d.err = t.decodeAttempt()
	}
	if d.err != nil {
		return fmt.Errorf("job %d: %w", j.ID, d.err)
	}
	return nil
}

func (t *jobText) decodeAttempt() (*job.Attempt, error) {
	if !t.number.Valid {
		return nil, fmt.Errorf("its current attempt %d is not there", t.attempt)
	}
	a := &job.Attempt{Number: int(t.attempt), BootID: t.boot.String, InvocationID: t.invocation.String, PeakMemBytes: t.peak.Int64}
	text := attemptText{t.gpus.String, t.placed.String, t.started.String, t.ended.String, t.attemptOutcome, t.cpu.Int64}
	return a, text.decode(a)
}

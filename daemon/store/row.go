package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

const (
	jobColumns     = "id, key, uid, gid, user, name, state, submitted_at, changed_at, stop, stop_by, attempt, label, request, result"
	attemptColumns = "job_id, number, gpus, boot_id, invocation_id, placed_at, started_at, ended_at, result, peak_mem_bytes, cpu_time_ns"
	gpuColumns     = "uuid, paused, reason, actor, at"
)

// jobArgs returns the values of jobColumns.
func jobArgs(j *job.Job) ([]any, error) {
	if j.ID < 1 || !j.State.Valid() {
		return nil, fmt.Errorf("%w: id %d in state %q", ErrInvalid, j.ID, j.State)
	}
	if j.State.Terminal() != (j.Result != nil) {
		return nil, fmt.Errorf("%w: state %q and result %v do not belong together", ErrInvalid, j.State, j.Result)
	}
	label, err := toJSON(&j.Label)
	if err != nil {
		return nil, err
	}
	request, err := toJSON(&j.Request)
	if err != nil {
		return nil, err
	}
	result, err := toNullJSON(j.Result)
	if err != nil {
		return nil, err
	}
	attempt := 0
	if j.Attempt != nil {
		attempt = j.Attempt.Number
	}
	return []any{int64(j.ID), j.Key, j.Owner.UID, j.Owner.GID, j.Owner.User, j.Label.Name, string(j.State),
		formatTime(j.SubmittedAt), formatTime(j.ChangedAt), string(j.Stop), j.StopBy, attempt, label, request, result}, nil
}

// scanJob reads jobColumns; the attempt has only its number.
func scanJob(row interface{ Scan(...any) error }) (job.Job, error) {
	var j job.Job
	var submitted, changed, label, request string
	var result sql.NullString
	var attempt int
	err := row.Scan(&j.ID, &j.Key, &j.Owner.UID, &j.Owner.GID, &j.Owner.User, &j.Label.Name, &j.State,
		&submitted, &changed, &j.Stop, &j.StopBy, &attempt, &label, &request, &result)
	if err != nil {
		return j, err
	}
	if attempt != 0 {
		j.Attempt = &job.Attempt{Number: attempt}
	}
	d := decoder{}
	d.time(&j.SubmittedAt, submitted)
	d.time(&j.ChangedAt, changed)
	d.json(&j.Label, label)
	d.json(&j.Request, request)
	d.result(&j.Result, result)
	if d.err != nil {
		return j, fmt.Errorf("job %d: %w", j.ID, d.err)
	}
	return j, nil
}

// attemptArgs returns the values of attemptColumns.
func attemptArgs(id job.ID, a *job.Attempt) ([]any, error) {
	gpus := "[]"
	if len(a.GPUs) > 0 {
		var err error
		if gpus, err = toJSON(a.GPUs); err != nil {
			return nil, err
		}
	}
	result, err := toNullJSON(a.Result)
	if err != nil {
		return nil, err
	}
	return []any{int64(id), a.Number, gpus, a.BootID, a.InvocationID, formatTime(a.PlacedAt), formatTime(a.StartedAt),
		formatTime(a.EndedAt), result, a.PeakMemBytes, int64(a.CPUTime)}, nil
}

// scanAttempt reads attemptColumns.
func scanAttempt(row interface{ Scan(...any) error }) (job.ID, *job.Attempt, error) {
	var id job.ID
	a := &job.Attempt{}
	var gpus, placed, started, ended string
	var result sql.NullString
	err := row.Scan(&id, &a.Number, &gpus, &a.BootID, &a.InvocationID, &placed, &started, &ended, &result, &a.PeakMemBytes, &a.CPUTime)
	if err != nil {
		return 0, nil, err
	}
	d := decoder{}
	if gpus != "[]" {
		d.json(&a.GPUs, gpus)
	}
	d.time(&a.PlacedAt, placed)
	d.time(&a.StartedAt, started)
	d.time(&a.EndedAt, ended)
	d.result(&a.Result, result)
	if d.err != nil {
		return 0, nil, fmt.Errorf("attempt %d of job %d: %w", a.Number, id, d.err)
	}
	return id, a, nil
}

// timeLayout has a fixed width, so that the order of texts is that of times.
const timeLayout = "2006-01-02T15:04:05.000000000Z"

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeLayout)
}

func toJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

func toNullJSON(r *job.Result) (any, error) {
	if r == nil {
		return nil, nil
	}
	return toJSON(r)
}

// decoder turns texts of a row into values and keeps the first error.
type decoder struct{ err error }

func (d *decoder) time(dst *time.Time, s string) {
	if s == "" || d.err != nil {
		return
	}
	*dst, d.err = time.Parse(time.RFC3339Nano, s)
}

func (d *decoder) json(dst any, s string) {
	if d.err == nil {
		d.err = json.Unmarshal([]byte(s), dst)
	}
}

func (d *decoder) result(dst **job.Result, s sql.NullString) {
	if s.Valid {
		*dst = &job.Result{}
		d.json(*dst, s.String)
	}
}

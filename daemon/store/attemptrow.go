package store

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

const attemptColumns = "job_id, number, gpus, boot_id, invocation_id, placed_at, started_at, ended_at, result, peak_mem_bytes, cpu_time_ns"

// attemptArgs returns the values of attemptColumns.
func attemptArgs(id job.ID, a *job.Attempt) ([]any, error) {
	e := encoder{}
	gpus, result := listJSON(&e, a.GPUs), e.result(a.Result)
	return []any{int64(id), a.Number, gpus, a.BootID, a.InvocationID, formatTime(a.PlacedAt), formatTime(a.StartedAt),
		formatTime(a.EndedAt), result, a.PeakMemBytes, int64(a.CPUTime)}, e.err
}

// attemptText is those columns of an attempt that need decoding.
type attemptText struct {
	gpus, placed, started, ended string
	result                       sql.NullString
	cpu                          int64
}

func (t *attemptText) decode(a *job.Attempt) error {
	d := decoder{}
	d.list(&a.GPUs, t.gpus)
	d.time(&a.PlacedAt, t.placed)
	d.time(&a.StartedAt, t.started)
	d.time(&a.EndedAt, t.ended)
	d.result(&a.Result, t.result)
	a.CPUTime = time.Duration(t.cpu)
	if d.err != nil {
		return fmt.Errorf("attempt %d: %w", a.Number, d.err)
	}
	return nil
}

// scanAttempt reads attemptColumns.
func scanAttempt(rows *sql.Rows) (job.Attempt, error) {
	var id job.ID
	var a job.Attempt
	var t attemptText
	err := rows.Scan(&id, &a.Number, &t.gpus, &a.BootID, &a.InvocationID, &t.placed, &t.started, &t.ended, &t.result, &a.PeakMemBytes, &t.cpu)
	if err != nil {
		return a, err
	}
	if err := t.decode(&a); err != nil {
		return a, fmt.Errorf("job %d: %w", id, err)
	}
	return a, nil
}

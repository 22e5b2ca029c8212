package store

import (
	"database/sql"
	"fmt"

	"github.com/gpusched/gpusched/daemon/job"
)

const attemptColumns = "job_id, number, gpus, boot_id, invocation_id, placed_at, started_at, ended_at, result, peak_mem_bytes, cpu_time_ns, eligible_at"

// attemptArgs returns the values of attemptColumns.
func attemptArgs(id job.ID, a *job.Attempt) ([]any, error) {
	e := encoder{}
	gpus, result := listJSON(&e, a.GPUs), e.result(a.Result)
	return []any{int64(id), a.Number, gpus, a.BootID, a.InvocationID, formatTime(a.PlacedAt), formatTime(a.StartedAt),
		formatTime(a.EndedAt), result, a.PeakMemBytes, int64(a.CPUTime), formatTime(a.EligibleAt)}, e.err
}

// ownedAttempt is an attempt with the job that it belongs to.
type ownedAttempt struct {
	job job.ID
	job.Attempt
}

// scanAttempt reads attemptColumns.
func scanAttempt(rows *sql.Rows) (a ownedAttempt, err error) {
	var gpus, placed, started, ended, eligible string
	var result sql.NullString
	err = rows.Scan(&a.job, &a.Number, &gpus, &a.BootID, &a.InvocationID, &placed, &started, &ended, &result,
		&a.PeakMemBytes, &a.CPUTime, &eligible)
	if err != nil {
		return a, err
	}
	d := decoder{}
	d.list(&a.GPUs, gpus)
	d.time(&a.PlacedAt, placed)
	d.time(&a.StartedAt, started)
	d.time(&a.EndedAt, ended)
	d.time(&a.EligibleAt, eligible)
	d.result(&a.Result, result)
	if d.err != nil {
		return a, fmt.Errorf("attempt %d of job %d: %w", a.Number, a.job, d.err)
	}
	return a, nil
}

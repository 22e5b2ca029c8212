package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

const (
	taskQuery = "SELECT id FROM jobs WHERE array_id = ? AND task_index = ?"

	resultsQuery = `SELECT j.task_index, j.result, coalesce(a.started_at, ''), coalesce(a.ended_at, '')
 FROM jobs j LEFT JOIN attempts a ON a.job_id = j.id AND a.number = j.attempt
 WHERE j.array_id = ? AND j.result IS NOT NULL ORDER BY j.task_index`

	endsQuery = `SELECT j.id, j.state, coalesce(json_extract(j.life, '$.began'), 0) FROM jobs j WHERE j.result IS NOT NULL AND j.id IN (SELECT value FROM json_each(?))`
)

// Task returns the job that a task of an array became. It returns 0 if there is no such task, or if
// the task is not a job yet.
func (s *Store) Task(ctx context.Context, array job.ID, index int) (id job.ID, err error) {
	err = s.read.QueryRowContext(ctx, taskQuery, int64(array), index).Scan(&id)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("look up task %v: %w", job.Task{Array: array, Index: index}, s.readError(err))
	}
	return id, nil
}

// Results returns how the tasks of an array ended. It leaves out tasks whose ends are not on
// record.
func (s *Store) Results(ctx context.Context, array job.ID) (out job.Results, err error) {
	defer s.reading(&err, "read the results of array %d", array)
	tx, end, err := s.longRead(ctx)
	if err != nil {
		return out, err
	}
	defer end()
	err = eachRow(ctx, tx, resultsQuery, func(rows *sql.Rows) error {
		var index int
		var result sql.NullString
		var started, ended string
		if err := rows.Scan(&index, &result, &started, &ended); err != nil {
			return err
		}
		var r *job.Result
		var from, to time.Time
		d := decoder{}
		d.result(&r, result)
		d.time(&from, started)
		d.time(&to, ended)
		if d.err == nil {
			out.Add(index, r, elapsed(from, to))
		}
		return d.errorAbout("task %d", index)
	}, int64(array))
	return out, err
}

// elapsed returns the time between a start and an end, or 0 if there was no start.
func elapsed(from, to time.Time) time.Duration {
	if from.IsZero() {
		return 0
	}
	return max(0, to.Sub(from))
}

// Ends returns the ends of the jobs. It leaves out jobs that have not ended. A job whose
// command the machine kept from running did not start.
func (s *Store) Ends(ctx context.Context, ids []job.ID) (ends map[job.ID]job.End, err error) {
	defer s.reading(&err, "read how %d jobs ended", len(ids))
	ends = make(map[job.ID]job.End, len(ids))
	err = eachRow(ctx, s.urgent, endsQuery, func(rows *sql.Rows) error {
		var id job.ID
		var end job.End
		err := rows.Scan(&id, &end.State, &end.Started)
		ends[id] = end
		return err
	}, listOf(ids))
	return ends, err
}

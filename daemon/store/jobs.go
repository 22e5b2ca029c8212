package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/gpusched/gpusched/daemon/job"
)

// jobsIn reads the jobs that the clause selects, with their current attempts. In the clause, j is
// the table of jobs. jobsIn counts the jobs first and allocates the list once: growing a long list
// would take a third of the time of jobsIn.
func jobsIn(ctx context.Context, tx *sql.Tx, clause string, args ...any) ([]job.Job, error) {
	var n int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT id FROM jobs j "+clause+")", args...).Scan(&n); err != nil {
		return nil, err
	}
	list := make([]job.Job, 0, n)
	if err := collect(ctx, tx, &list, scanJob, jobQuery+clause, args...); err != nil {
		return nil, err
	}
	return list, fillAttempts(ctx, tx, list, clause, args...)
}

// fillAttempts completes the jobs' attempts, of which only the numbers were read so far. The clause
// must select at least these jobs. A join would take a third of the time of reading the jobs,
// although most jobs of a long list have no attempt.
func fillAttempts(ctx context.Context, tx *sql.Tx, jobs []job.Job, clause string, args ...any) error {
	open := map[job.ID]*job.Job{}
	for i := range jobs {
		if jobs[i].Attempt != nil {
			open[jobs[i].ID] = &jobs[i]
		}
	}
	if len(open) == 0 {
		return nil
	}
	query := "SELECT " + attemptColumns + " FROM (SELECT j.id, j.attempt FROM jobs j " + clause + ") p CROSS JOIN attempts a ON a.job_id = p.id AND a.number = p.attempt"
	err := eachRow(ctx, tx, query, func(rows *sql.Rows) error {
		a, err := scanAttempt(rows)
		if err != nil {
			return err
		}
		if j := open[a.job]; j != nil { // the clause may select other jobs as well
			j.Attempt = &a.Attempt
			delete(open, a.job)
		}
		return nil
	}, args...)
	if err != nil {
		return err
	}
	for id, j := range open {
		return fmt.Errorf("job %d: its attempt %d is not there", id, j.Attempt.Number)
	}
	return nil
}

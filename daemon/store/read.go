package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Jobs returns the jobs with these ids, in any order, in one snapshot. It leaves out ids without a
// job.
func (s *Store) Jobs(ctx context.Context, ids []job.ID) (jobs []job.Job, err error) {
	defer s.reading(&err, "read %d jobs", len(ids))
	const clause = "WHERE j.id IN (SELECT value FROM json_each(?))"
	list := listOf(ids)
	if len(ids) < manyIDs {
		return jobsFrom(ctx, s.read, clause, list)
	}
	tx, end, err := s.longRead(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	return jobsIn(ctx, tx, clause, list)
}

// manyIDs is the number of ids at which Jobs becomes a long read. No command asks for so many at
// once.
const manyIDs = 2000

// Attempts returns all attempts of a job, from the first to the current one. It returns none if the
// job does not exist or was never placed.
func (s *Store) Attempts(ctx context.Context, id job.ID) (list []job.Attempt, err error) {
	defer s.reading(&err, "read the attempts of job %d", id)
	scan := func(rows *sql.Rows) (job.Attempt, error) { a, err := scanAttempt(rows); return a.Attempt, err }
	err = collect(ctx, s.read, &list, scan, "SELECT "+attemptColumns+" FROM attempts WHERE job_id = ? ORDER BY number", int64(id))
	return list, err
}

// Notifications returns the messages about a job, sorted by event and number.
func (s *Store) Notifications(ctx context.Context, id job.ID) (list []job.Notification, err error) {
	defer s.reading(&err, "read the messages about job %d", id)
	err = collect(ctx, s.read, &list, scanNotification,
		"SELECT "+notificationColumns+" FROM notifications WHERE job_id = ? ORDER BY event DESC, which", int64(id))
	return list, err
}

// keepers finds the jobs that have the same directory as the row d.
const keepers = "SELECT 1 FROM directories o JOIN jobs j ON j.id = o.job_id WHERE o.uid = d.uid AND o.data ->> '$.path' = d.data ->> '$.path'"

// Directories returns the directories to be removed: of each user the first two, so that a user with
// huge ones delays nobody else, and at most n in all, in the order of their times. It leaves out
// those that wait until their jobs are forgotten, and until no other job has the same.
func (s *Store) Directories(ctx context.Context, n int) (list []job.Directory, err error) {
	defer s.reading(&err, "read the directories to be removed")
	const waiting = "SELECT *, row_number() OVER (PARTITION BY uid ORDER BY due, job_id, attempt) AS place FROM directories d " +
		"WHERE due <> '' OR job_id NOT IN (SELECT id FROM jobs) AND NOT EXISTS (" + keepers + ")"
	err = collect(ctx, s.read, &list, scanDirectory,
		"SELECT "+directoryColumns+" FROM ("+waiting+") WHERE place <= 2 ORDER BY due, job_id, attempt LIMIT ?", n)
	return list, err
}

// Lately counts an account's jobs that ended at or after the given time. It reads only the rows
// that it counts, because every listing calls it.
func (s *Store) Lately(ctx context.Context, uid int, since time.Time) (out job.Lately, err error) {
	const query = `SELECT count(*), count(*) FILTER (WHERE state NOT IN ('completed', 'cancelled')) FROM jobs
 WHERE uid = ? AND changed_at >= ? AND result IS NOT NULL AND json_extract(request, '$.array') IS NULL`
	defer s.reading(&err, "count ended jobs")
	return out, s.read.QueryRowContext(ctx, query, uid, formatTime(since)).Scan(&out.Ended, &out.Failed)
}

const byKeyQuery = "SELECT id FROM jobs WHERE uid = ? AND key = ? AND key <> ''"

// ByKey returns the job, live or ended, that the user submitted with the request key. The empty key
// belongs to no job.
func (s *Store) ByKey(ctx context.Context, uid int, key string) (id job.ID, known bool, err error) {
	err = s.byKey.QueryRowContext(ctx, uid, key).Scan(&id)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, false, fmt.Errorf("look up a request key: %w", classify(s.path, err))
	}
	return id, id != 0, nil
}

// jobsFrom reads the jobs that the clause selects, with their current attempts, in one snapshot.
func jobsFrom(ctx context.Context, db *sql.DB, clause string, args ...any) ([]job.Job, error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	return jobsIn(ctx, tx, clause, args...)
}

// queryer is a database or a transaction on it.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// eachRow calls f for every row of the query.
func eachRow(ctx context.Context, q queryer, query string, f func(*sql.Rows) error, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

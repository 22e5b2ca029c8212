package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Jobs returns those of the jobs that exist, in any order, in one snapshot.
func (s *Store) Jobs(ctx context.Context, ids []job.ID) ([]job.Job, error) {
	if len(ids) == 1 {
		list, err := s.job(ctx, ids[0])
		if err != nil {
			return nil, fmt.Errorf("read job %d: %w", ids[0], s.readError(err))
		}
		return list, nil
	}
	text, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	list, err := s.jobsByID(ctx, ids, string(text))
	if err != nil {
		return nil, fmt.Errorf("read %d jobs: %w", len(ids), s.readError(err))
	}
	return list, nil
}

// manyIDs is how many jobs by number are a long read. No command asks for as many at once.
const manyIDs = 2000

func (s *Store) jobsByID(ctx context.Context, ids []job.ID, list string) ([]job.Job, error) {
	const clause = "WHERE j.id IN (SELECT value FROM json_each(?))"
	if len(ids) < manyIDs {
		return jobsFrom(ctx, s.read, clause, list)
	}
	r, err := s.reporter(ctx)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return jobsFrom(ctx, r, clause, list)
}

// job reads one job, if it exists, and its current attempt, by statements that are kept:
// whoever waits for a job reads it when it has ended, and making a statement takes longer
// than what it does.
func (s *Store) job(ctx context.Context, id job.ID) ([]job.Job, error) {
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	var list []job.Job
	err = s.asks.each(ctx, tx, askJob, func(rows *sql.Rows) error {
		j, err := scanJob(rows)
		list = append(list, j)
		return err
	}, int64(id))
	if err != nil || len(list) == 0 || list[0].Attempt == nil {
		return list, err
	}
	j, number := &list[0], list[0].Attempt.Number
	j.Attempt = nil
	err = s.asks.each(ctx, tx, askAttempt, func(rows *sql.Rows) error {
		a, err := scanAttempt(rows)
		j.Attempt = &a.Attempt
		return err
	}, int64(id), number)
	if err == nil && j.Attempt == nil {
		err = fmt.Errorf("job %d: its attempt %d is not there", id, number)
	}
	return list, err
}

// Attempts returns all attempts of a job, first to current; none for a job
// that is not there or was never placed.
func (s *Store) Attempts(ctx context.Context, id job.ID) ([]job.Attempt, error) {
	var list []job.Attempt
	err := each(ctx, s.read, "SELECT "+attemptColumns+" FROM attempts WHERE job_id = ? ORDER BY number", func(rows *sql.Rows) error {
		a, err := scanAttempt(rows)
		list = append(list, a.Attempt)
		return err
	}, int64(id))
	if err != nil {
		return nil, fmt.Errorf("read the attempts of job %d: %w", id, s.readError(err))
	}
	return list, nil
}

// Notifications returns the messages about a job, by event and number.
func (s *Store) Notifications(ctx context.Context, id job.ID) ([]job.Notification, error) {
	var list []job.Notification
	err := collect(ctx, s.read, &list, scanNotification,
		"SELECT "+notificationColumns+" FROM notifications WHERE job_id = ? ORDER BY event DESC, which", int64(id))
	if err != nil {
		return nil, fmt.Errorf("read the messages about job %d: %w", id, s.readError(err))
	}
	return list, nil
}

// Lately counts an account's jobs that ended at a moment or after it. Of none of them is
// more read than that, as it is asked with each listing.
func (s *Store) Lately(ctx context.Context, uid int, since time.Time) (out job.Lately, err error) {
	err = s.asks.each(ctx, nil, askLately, func(rows *sql.Rows) error {
		return rows.Scan(&out.Ended, &out.Failed)
	}, uid, formatTime(since))
	if err != nil {
		return out, fmt.Errorf("count ended jobs: %w", s.readError(err))
	}
	return out, nil
}

// chosen adds what the choice asks, as job.Query.Matches has it.
func chosen(c job.Choice, add func(cond string, arg ...any)) {
	if len(c.States) > 0 {
		in := make([]any, len(c.States))
		for i, st := range c.States {
			in[i] = string(st)
		}
		add("j.state IN (?"+strings.Repeat(", ?", len(in)-1)+")", in...)
	}
	if c.Name != "" {
		add("j.name = ?", c.Name)
	}
	if c.Like != "" {
		add("j.name GLOB ?", strings.ReplaceAll(c.Like, "[", "[[]")) // no sets of characters
	}
	for key, value := range c.Tags {
		add("EXISTS (SELECT 1 FROM json_each(j.label, '$.tags') AS t WHERE t.key = ? AND t.value = ?)", key, value)
	}
	if !c.Since.IsZero() {
		add("j.changed_at >= ?", formatTime(c.Since))
	}
}

// ByKey returns the job, live or ended, that the user submitted with the
// request key. The empty key names no job.
func (s *Store) ByKey(ctx context.Context, uid int, key string) (job.ID, bool, error) {
	if key == "" {
		return 0, false, nil
	}
	var id job.ID
	err := s.asks.each(ctx, nil, askKey, func(rows *sql.Rows) error {
		return rows.Scan(&id)
	}, uid, key)
	if err == nil && id == 0 {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("look up a request key: %w", classify(s.path, err))
	}
	return id, true, nil
}

// jobsFrom reads the rows that the clause selects, and their current attempts, in one snapshot.
func jobsFrom(ctx context.Context, db beginner, clause string, args ...any) ([]job.Job, error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	return jobsIn(ctx, tx, clause, args...)
}

// beginner is a database or a connection to it.
type beginner interface {
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
}

// queryer is a database or a transaction on it.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// each calls f for every row of the query.
func each(ctx context.Context, q queryer, query string, f func(*sql.Rows) error, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	return eachRow(rows, f)
}

func eachRow(rows *sql.Rows, f func(*sql.Rows) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

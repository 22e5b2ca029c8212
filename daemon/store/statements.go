package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// statements are the writer's prepared statements.
type statements struct {
	job, attempt, payload, strip, older, gpu, usage, prediction, reservation, unreserve, leftOf, leftOfLast, counters *sql.Stmt
}

func (p *statements) all() []**sql.Stmt {
	return []**sql.Stmt{&p.job, &p.attempt, &p.payload, &p.strip, &p.older, &p.gpu, &p.usage, &p.prediction, &p.reservation, &p.unreserve, &p.leftOf, &p.leftOfLast, &p.counters}
}

func (p *statements) prepare(ctx context.Context, db *sql.DB) error {
	texts := []string{
		upsert("jobs", jobColumns, 1, "id", "key", "uid", "gid", "user", "owner_groups", "submitted_at", "array_id", "task_index"),
		upsert("attempts", attemptColumns, 2, "job_id", "number"),
		upsert("payloads", payloadColumns, 1, "job_id"),
		stripPayload, olderAttempts,
		upsert("gpu_controls", gpuColumns, 1, "uuid"),
		upsert("usage", usageColumns, 1, "account"),
		upsert("predictions", predictionColumns, 1, "key"),
		upsert("reservations", reservationColumns, 1, "id"),
		"DELETE FROM reservations WHERE id = ?",
		"UPDATE attempts SET result = json_set(result, '$.left', ?3) WHERE job_id = ?1 AND number = ?2 AND result IS NOT NULL",
		"UPDATE jobs SET result = json_set(result, '$.left', ?3) WHERE id = ?1 AND attempt = ?2 AND result IS NOT NULL",
		setCounters,
	}
	for i, stmt := range p.all() {
		var err error
		if *stmt, err = db.PrepareContext(ctx, texts[i]); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
	}
	return nil
}

// upsert returns the statement that inserts a row or, where the first keys
// columns of fixed exist, sets all columns but the fixed ones.
func upsert(table, columns string, keys int, fixed ...string) string {
	var marks, sets []string
	for c := range strings.SplitSeq(columns, ", ") {
		marks = append(marks, "?")
		if !slices.Contains(fixed, c) {
			sets = append(sets, c+" = excluded."+c)
		}
	}
	return "INSERT INTO " + table + " (" + columns + ") VALUES (" + strings.Join(marks, ", ") + ") ON CONFLICT (" +
		strings.Join(fixed[:keys], ", ") + ") DO UPDATE SET " + strings.Join(sets, ", ")
}

// in returns the statements inside a transaction; they end with it.
func (p *statements) in(ctx context.Context, tx *sql.Tx) *statements {
	q := &statements{}
	own := q.all()
	for i, stmt := range p.all() {
		*own[i] = tx.StmtContext(ctx, *stmt)
	}
	return q
}

func (p *statements) close() error {
	var errs []error
	for _, stmt := range p.all() {
		if *stmt != nil {
			errs = append(errs, (*stmt).Close())
		}
	}
	return errors.Join(errs...)
}

// record writes one record.
func (p *statements) record(ctx context.Context, r job.Record) error {
	if r.Job != nil {
		if err := p.putJob(ctx, r.Job); err != nil {
			return fmt.Errorf("job %d: %w", r.Job.ID, err)
		}
	}
	if r.Payload != nil && (r.Job == nil || r.Job.Task != nil) {
		return fmt.Errorf("%w: a payload without its job, or of a task", job.ErrInvalid)
	}
	var w writer
	if r.Payload != nil {
		args, err := payloadArgs(r.Job.ID, r.Payload)
		w.put(ctx, p.payload, args, err, "payload of job %d", r.Job.ID)
	}
	if r.Job != nil && r.Job.State.Terminal() && r.Job.Task == nil {
		w.put(ctx, p.strip, []any{int64(r.Job.ID)}, nil, "payload of job %d, which has ended", r.Job.ID)
	}
	if g := r.GPU; g != nil {
		args, err := gpuArgs(g)
		w.put(ctx, p.gpu, args, err, "control of GPU %q", g.UUID)
	}
	if u := r.Usage; u != nil {
		w.put(ctx, p.usage, usageArgs(u), nil, "usage of account %q", u.Account)
	}
	if y := r.Prediction; y != nil {
		w.put(ctx, p.prediction, predictionArgs(y), nil, "prediction %q", y.Key)
	}
	if v := r.Reservation; v != nil {
		args, err := reservationArgs(v)
		w.put(ctx, p.reservation, args, err, "reservation %d", v.ID)
	}
	if l := r.Left; l != nil {
		args := []any{int64(l.Job), l.Attempt, l.What}
		w.put(ctx, p.leftOf, args, nil, "what job %d left", l.Job)
		w.put(ctx, p.leftOfLast, args, nil, "what job %d left", l.Job)
	}
	if r.Unreserve != 0 {
		w.put(ctx, p.unreserve, []any{r.Unreserve}, nil, "remove reservation %d", r.Unreserve)
	}
	return w.err
}

// writer executes statements and keeps the first error.
type writer struct{ err error }

// put executes a statement with arguments, which may have an error of their own;
// what and subject say what it writes.
func (w *writer) put(ctx context.Context, stmt *sql.Stmt, args []any, err error, what string, subject any) {
	if w.err != nil {
		return
	}
	if err == nil {
		_, err = stmt.ExecContext(ctx, args...)
	}
	if err != nil {
		w.err = fmt.Errorf(what+": %w", subject, err)
	}
}

func (p *statements) putJob(ctx context.Context, j *job.Job) error {
	args, err := jobArgs(j)
	if err != nil {
		return err
	}
	if _, err := p.job.ExecContext(ctx, args...); err != nil || j.Attempt == nil {
		return err
	}
	if args, err = attemptArgs(j.ID, j.Attempt); err != nil {
		return err
	}
	if _, err = p.attempt.ExecContext(ctx, args...); err == nil && j.Attempt.Number > keepAttempts {
		_, err = p.older.ExecContext(ctx, int64(j.ID), j.Attempt.Number-keepAttempts)
	}
	return err
}

package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// statements are the writer's prepared statements.
type statements struct{ job, attempt, payload, gpu, nextID *sql.Stmt }

func (p *statements) prepare(ctx context.Context, db *sql.DB) (err error) {
	prepare := func(text string) *sql.Stmt {
		if err != nil {
			return nil
		}
		var stmt *sql.Stmt
		if stmt, err = db.PrepareContext(ctx, text); err != nil {
			err = fmt.Errorf("prepare: %w", err)
		}
		return stmt
	}
	p.job = prepare(upsert("jobs", jobColumns, 1, "id", "key", "uid", "gid", "user", "name", "submitted_at"))
	p.attempt = prepare(upsert("attempts", attemptColumns, 2, "job_id", "number"))
	p.payload = prepare(upsert("payloads", payloadColumns, 1, "job_id"))
	p.gpu = prepare(upsert("gpu_controls", gpuColumns, 1, "uuid"))
	p.nextID = prepare("UPDATE meta SET value = ? WHERE name = 'next_id'")
	return err
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
	return &statements{
		job: tx.StmtContext(ctx, p.job), attempt: tx.StmtContext(ctx, p.attempt), payload: tx.StmtContext(ctx, p.payload),
		gpu: tx.StmtContext(ctx, p.gpu), nextID: tx.StmtContext(ctx, p.nextID),
	}
}

func (p *statements) close() error {
	var first error
	for _, stmt := range []*sql.Stmt{p.job, p.attempt, p.payload, p.gpu, p.nextID} {
		if stmt == nil {
			continue
		}
		if err := stmt.Close(); first == nil {
			first = err
		}
	}
	return first
}

// record writes one record.
func (p *statements) record(ctx context.Context, r Record) error {
	if r.Job != nil {
		if err := p.putJob(ctx, r.Job); err != nil {
			return fmt.Errorf("job %d: %w", r.Job.ID, err)
		}
	}
	if r.Payload != nil {
		if r.Job == nil {
			return fmt.Errorf("%w: a payload without its job", ErrInvalid)
		}
		if err := p.putPayload(ctx, r.Job.ID, r.Payload); err != nil {
			return fmt.Errorf("payload of job %d: %w", r.Job.ID, err)
		}
	}
	if g := r.GPU; g != nil {
		if _, err := p.gpu.ExecContext(ctx, g.UUID, g.Paused, g.Reason, g.By, formatTime(g.At)); err != nil {
			return fmt.Errorf("control of GPU %q: %w", g.UUID, err)
		}
	}
	return nil
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
	_, err = p.attempt.ExecContext(ctx, args...)
	return err
}

func (p *statements) putPayload(ctx context.Context, id job.ID, y *job.Payload) error {
	args, err := payloadArgs(id, y)
	if err != nil {
		return err
	}
	_, err = p.payload.ExecContext(ctx, args...)
	return err
}

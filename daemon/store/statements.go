package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// statements are the writer's prepared statements.
type statements [statementCount]*sql.Stmt

// The statements, named after what they write.
const (
	putJob = iota
	putAttempt
	putPayload
	redactEnded
	dropOlder
	putGPU
	putUsage
	putPrediction
	putReservation
	dropReservation
	putNotification
	putDirectory
	dropDirectory
	leaveAttempt
	leaveJob
	putCounters
	putAlive
	statementCount
)

func (p *statements) prepare(ctx context.Context, db *sql.DB) (err error) {
	for i, text := range []string{
		putJob:          upsert("jobs", jobColumns, 1, fixedOfJob...),
		putAttempt:      upsert("attempts", attemptColumns, 2, "job_id", "number"),
		putPayload:      upsert("payloads", payloadColumns, 1, "job_id"),
		redactEnded:     redactPayload,
		dropOlder:       olderAttempts,
		putGPU:          upsert("gpu_controls", gpuColumns, 1, "uuid"),
		putUsage:        upsert("usage", usageColumns, 1, "account"),
		putPrediction:   upsert("predictions", predictionColumns, 1, "key"),
		putReservation:  upsert("reservations", reservationColumns, 1, "id"),
		dropReservation: "DELETE FROM reservations WHERE id = ?",
		putNotification: upsert("notifications", notificationColumns, 3, "job_id", "event", "which"),
		putDirectory:    upsert("directories", directoryColumns, 2, "job_id", "attempt"),
		dropDirectory:   "DELETE FROM directories WHERE job_id = ? AND attempt = ?",
		leaveAttempt:    "UPDATE attempts SET result = json_set(result, '$.left', json(?3)) WHERE job_id = ?1 AND number = ?2 AND result IS NOT NULL",
		leaveJob:        "UPDATE jobs SET result = json_set(result, '$.left', json(?3)) WHERE id = ?1 AND attempt = ?2 AND result IS NOT NULL",
		putCounters:     setCounters,
		putAlive:        "INSERT INTO meta (name, value) VALUES ('alive', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
	} {
		if p[i], err = db.PrepareContext(ctx, text); err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
	}
	return nil
}

// upsert returns a statement that inserts a row, or updates the row that has the same key. The
// first nKeys of the fixed columns are the key. The update sets the columns that are not fixed.
func upsert(table, columns string, nKeys int, fixed ...string) string {
	var marks, sets []string
	for c := range strings.SplitSeq(columns, ", ") {
		marks = append(marks, "?")
		if !slices.Contains(fixed, c) {
			sets = append(sets, c+" = excluded."+c)
		}
	}
	return "INSERT INTO " + table + " (" + columns + ") VALUES (" + strings.Join(marks, ", ") + ") ON CONFLICT (" +
		strings.Join(fixed[:nKeys], ", ") + ") DO UPDATE SET " + strings.Join(sets, ", ")
}

// fixedOfJob are the columns of the table jobs that never change after a job's first record. The
// first of them is the table's key.
var fixedOfJob = []string{"id", "key", "uid", "gid", "owner_groups", "submitted_at", "array_id", "task_index"}

// inTx returns the statements for use in a transaction. They end with the transaction.
func (p *statements) inTx(ctx context.Context, tx *sql.Tx) *statements {
	q := &statements{}
	for i, stmt := range p {
		q[i] = tx.StmtContext(ctx, stmt)
	}
	return q
}

// record writes one record.
func (p *statements) record(ctx context.Context, r job.Record) error {
	if r.Job != nil {
		if err := p.writeJob(ctx, r.Job); err != nil {
			return fmt.Errorf("job %d: %w", r.Job.ID, err)
		}
	}
	if r.Payload != nil && (r.Job == nil || r.Job.Task != nil) {
		return fmt.Errorf("%w: a payload without its job, or of a task", job.ErrInvalid)
	}
	var w writer
	if r.Payload != nil {
		args, err := payloadArgs(r.Job.ID, r.Payload)
		w.put(ctx, p[putPayload], args, err, "payload of job %d", r.Job.ID)
		if dir := r.Payload.Snapshot.Dir; dir != "" { // it is removed when the job is forgotten
			r.Directory = &job.Directory{Job: r.Job.ID, UID: r.Job.Owner.UID, Path: dir}
		}
	}
	if g := r.GPU; g != nil {
		args, err := gpuArgs(g)
		w.put(ctx, p[putGPU], args, err, "control of GPU %q", g.UUID)
	}
	if u := r.Usage; u != nil {
		args, err := usageArgs(u)
		w.put(ctx, p[putUsage], args, err, "usage of account %q", u.Account)
	}
	if y := r.Prediction; y != nil {
		args, err := predictionArgs(y)
		w.put(ctx, p[putPrediction], args, err, "prediction %q", y.Key)
	}
	if v := r.Reservation; v != nil {
		args, err := reservationArgs(v)
		w.put(ctx, p[putReservation], args, err, "reservation %d", v.ID)
	}
	if n := r.Notification; n != nil {
		args, err := notificationArgs(n)
		w.put(ctx, p[putNotification], args, err, "message about job %d", n.Job)
	}
	if d := r.Directory; d != nil && d.Gone {
		w.put(ctx, p[dropDirectory], []any{int64(d.Job), d.Attempt}, nil, "removed directory of job %d", d.Job)
	} else if d != nil {
		args, err := directoryArgs(d)
		w.put(ctx, p[putDirectory], args, err, "directory of job %d", d.Job)
	}
	if l := r.Left; l != nil {
		what, err := json.Marshal(l.What)
		args := []any{int64(l.Job), l.Attempt, string(what)}
		w.put(ctx, p[leaveAttempt], args, err, "what job %d left", l.Job)
		w.put(ctx, p[leaveJob], args, err, "what job %d left", l.Job)
	}
	if !r.Alive.IsZero() {
		w.put(ctx, p[putAlive], []any{r.Alive.UnixMicro()}, nil, "that the machine was on at %s", r.Alive)
	}
	if r.Unreserve != 0 {
		w.put(ctx, p[dropReservation], []any{r.Unreserve}, nil, "remove reservation %d", r.Unreserve)
	}
	return w.err
}

// redact removes from the payloads of ended jobs everything that must not be kept.
func (p *statements) redact(ctx context.Context, records []job.Record) error {
	var w writer
	for _, r := range records {
		if r.Job != nil && r.Job.State.Terminal() && r.Job.Task == nil {
			w.put(ctx, p[redactEnded], []any{int64(r.Job.ID)}, nil, "payload of job %d, which has ended", r.Job.ID)
		}
	}
	return w.err
}

// writer executes statements and keeps the first error.
type writer struct{ err error }

// put executes a statement. The argument err is an error from making the statement's arguments, or
// nil. In put's own errors, format and subject describe the data that was to be written.
func (w *writer) put(ctx context.Context, stmt *sql.Stmt, args []any, err error, format string, subject any) {
	if w.err != nil {
		return
	}
	if err == nil {
		_, err = stmt.ExecContext(ctx, args...)
	}
	if err != nil {
		w.err = fmt.Errorf(format+": %w", subject, err)
	}
}

// writeJob writes a job, new or not.
func (p *statements) writeJob(ctx context.Context, j *job.Job) error {
	args, err := jobArgs(j)
	if err == nil {
		_, err = p[putJob].ExecContext(ctx, args...)
	}
	if err != nil || j.Attempt == nil {
		return err
	}
	if args, err = attemptArgs(j.ID, j.Attempt); err != nil {
		return err
	}
	if _, err = p[putAttempt].ExecContext(ctx, args...); err == nil && j.Attempt.Number > keepAttempts {
		_, err = p[dropOlder].ExecContext(ctx, int64(j.ID), j.Attempt.Number-keepAttempts)
	}
	return err
}

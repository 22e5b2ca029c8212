package store

import (
	"context"
	"database/sql"
)

// asks are the statements of the readers that are made once: those of the ways on which
// somebody waits for each job. They are made before anyone reads: making one takes a
// connection, and those who wait for it could hold them all, each in a transaction.
type asks [askCount]*sql.Stmt

// The statements, by what they read.
const (
	askJob = iota
	askAttempt
	askLately
	askKey // of those that a submission asks
	askCount
)

func (a *asks) prepare(ctx context.Context, s *Store) error {
	err := prepareAll(ctx, s.own, a[askKey:askKey+1], []string{"SELECT id FROM jobs WHERE uid = ? AND key = ? AND key <> ''"})
	if err != nil {
		return err
	}
	return prepareAll(ctx, s.read, a[:askKey], []string{
		askJob:     jobQuery + "WHERE j.id = ?",
		askAttempt: "SELECT " + attemptColumns + " FROM attempts WHERE job_id = ? AND number = ?",
		askLately: `SELECT count(*), count(*) FILTER (WHERE state NOT IN ('completed', 'cancelled')) FROM jobs
 WHERE uid = ? AND changed_at >= ? AND result IS NOT NULL AND json_extract(request, '$.array') IS NULL`,
	})
}

// each calls f for each row; tx is nil where there is none.
func (a *asks) each(ctx context.Context, tx *sql.Tx, which int, f func(*sql.Rows) error, args ...any) error {
	stmt := a[which]
	if tx != nil {
		stmt = tx.StmtContext(ctx, stmt)
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	return eachRow(rows, f)
}

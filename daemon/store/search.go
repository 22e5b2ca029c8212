package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Limits of long reads.
const (
	searchRows  = 5000             // number of jobs that a search reads before it gives up its turn
	maxTurnWait = 20 * time.Second // the longest wait for a turn, and the longest search
	fewEnded    = 1000             // number of newest jobs that can be read without a turn
)

// longReads has the limits of long reads. Tests can set them.
type longReads struct {
	rows        int
	maxTurnWait time.Duration
}

// errBusy returns the refusal of a long read because too many other long reads are under way.
func errBusy() error { return job.Refuse("unavailable/reads") }

// longRead waits for a turn to make a long read. It returns a snapshot for that read. The caller must
// call end after the read.
func (s *Store) longRead(ctx context.Context) (tx *sql.Tx, end func(), err error) {
	limited, cancel := context.WithTimeout(ctx, s.long.maxTurnWait)
	defer cancel()
	conn, err := s.reports.Conn(limited)
	switch {
	case errors.Is(err, context.DeadlineExceeded): // the wait for a turn was too long, or the caller's deadline has passed
		return nil, nil, errBusy()
	case err != nil:
		return nil, nil, err
	}
	if tx, err = conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}); err != nil {
		conn.Close()
		return nil, nil, err
	}
	return tx, func() { tx.Rollback(); conn.Close() }, nil
}

// Ended returns the ended jobs that match the query, newest first: at most q.Ended jobs, or all if
// q.Ended is 0.
func (s *Store) Ended(ctx context.Context, q job.Query) (jobs []job.Job, err error) {
	defer s.reading(&err, "read ended jobs")
	along, which := filter{where: []string{"j.result IS NOT NULL"}}, filter{}
	if q.UID != nil {
		along.add("j.uid = ?", *q.UID) // there is an index that begins with the uid
	}
	if !q.Since.IsZero() {
		along.add("j.changed_at >= ?", formatTime(q.Since))
	}
	which.ownedBy(q.UID, q.User)
	which.addChoice(q.Choice)
	if q.Array != 0 {
		which.add("j.array_id = ?", int64(q.Array))
	}
	all := q.Choice.IsAll() && q.User == ""
	if q.Array == 0 && !(all && 0 < q.Ended && q.Ended <= fewEnded) {
		return s.search(ctx, &along, &which, q.Ended)
	}
	clause, args := along.combine(&which, job.Cursor{}, job.Cursor{}).newestClause(q.Ended)
	if all && q.Array == 0 {
		return jobsFrom(ctx, s.read, clause, args...)
	}
	tx, end, err := s.longRead(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	return jobsIn(ctx, tx, clause, args...)
}

// search goes through the ended jobs in an index, newest first. After every searchRows jobs it
// gives up its turn, so that a search of a long history delays nobody.
func (s *Store) search(ctx context.Context, index, match *filter, limit int) ([]job.Job, error) {
	limited, cancel := context.WithTimeout(ctx, s.long.maxTurnWait)
	defer cancel()
	found := []job.Job{}
	for from := (job.Cursor{}); ; {
		room := 0
		if limit > 0 {
			room = limit - len(found)
		}
		some, to, err := s.searchSome(limited, index, match, from, room)
		switch {
		case err != nil && limited.Err() != nil && ctx.Err() == nil:
			return nil, errBusy()
		case err != nil:
			return nil, err
		}
		found = append(found, some...)
		if to.IsZero() || limit > 0 && len(found) == limit {
			return found, nil
		}
		from = to
	}
}

// searchSome searches some of the jobs before the cursor, the newest of them first. It returns the
// cursor at which the next call continues. That cursor is zero if no jobs are left.
func (s *Store) searchSome(
	ctx context.Context, index, match *filter, cursor job.Cursor, room int,
) (found []job.Job, to job.Cursor, err error) {
	tx, end, err := s.longRead(ctx)
	if err != nil {
		return nil, to, err
	}
	defer end()
	clause, args := index.combine(&filter{}, cursor, job.Cursor{}).newestClause(1)
	at := ""
	err = tx.QueryRowContext(ctx, "SELECT j.changed_at, j.id FROM jobs j "+clause+fmt.Sprintf(" OFFSET %d", s.long.rows-1), args...).Scan(&at, &to.ID)
	d := decoder{}
	if err == nil {
		d.time(&to.At, at)
	}
	if err = errors.Join(err, d.err); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, to, err
	}
	var ids []int64
	clause, args = index.combine(match, cursor, to).newestClause(room)
	err = eachRow(ctx, tx, "SELECT j.id FROM jobs j "+clause, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}, args...)
	if err != nil || len(ids) == 0 {
		return nil, to, err
	}
	found, err = jobsIn(ctx, tx, "WHERE j.id IN (SELECT value FROM json_each(?)) ORDER BY j.changed_at DESC, j.id DESC", listOf(ids))
	return found, to, err
}

// combine combines two filters. The two cursors also restrict the jobs: each job must come before
// the first cursor, and not before the second. A zero cursor adds no restriction.
func (f *filter) combine(o *filter, before, from job.Cursor) *filter {
	both := &filter{slices.Concat(f.where, o.where), slices.Concat(f.args, o.args)}
	if !before.IsZero() {
		both.add("(j.changed_at, j.id) < (?, ?)", formatTime(before.At), int64(before.ID))
	}
	if !from.IsZero() {
		both.add("(j.changed_at, j.id) >= (?, ?)", formatTime(from.At), int64(from.ID))
	}
	return both
}

// newestClause returns the clause that selects the newest ended jobs. If limit is 0, it selects
// all.
func (f *filter) newestClause(limit int) (string, []any) {
	clause := "WHERE " + strings.Join(f.where, " AND ") + " ORDER BY j.changed_at DESC, j.id DESC"
	if limit > 0 {
		clause += fmt.Sprintf(" LIMIT %d", limit)
	}
	return clause, f.args
}

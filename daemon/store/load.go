package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Load returns the state with which the scheduler starts, from one snapshot. If rows are invalid,
// the error is a *CorruptError, as for a damaged file.
func (s *Store) Load(ctx context.Context) (job.Restored, error) {
	st, err := s.load(ctx)
	if err == nil {
		return st, nil
	}
	if primaryCode(err) == 0 && ctx.Err() == nil {
		err = &CorruptError{Path: s.path, Detail: err.Error()}
	}
	return job.Restored{}, fmt.Errorf("load the state: %w", classify(s.path, err))
}

const (
	liveClause = "WHERE j.result IS NULL ORDER BY j.id"
	owedQuery  = "SELECT " + notificationColumns + " FROM notifications WHERE closed = '' ORDER BY job_id, event, which"
	doneQuery  = "SELECT uid, dedup, id FROM jobs WHERE dedup <> '' AND state = 'completed' AND array_id IS NULL ORDER BY id DESC LIMIT ?"
)

func (s *Store) load(ctx context.Context) (st job.Restored, err error) {
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return st, err
	}
	defer tx.Rollback()
	next, err := readCounters(ctx, tx)
	if err != nil {
		return st, err
	}
	st.NextID, st.NextReservation, st.Events = next.job, next.reservation, next.events
	var alive int64
	err = tx.QueryRowContext(ctx, "SELECT coalesce((SELECT value FROM meta WHERE name = 'alive'), 0)").Scan(&alive)
	if err != nil {
		return st, err
	}
	if alive != 0 {
		st.Alive = time.UnixMicro(alive).UTC()
	}
	if st.Jobs, err = jobsIn(ctx, tx, liveClause); err != nil {
		return st, err
	}
	err = errors.Join(
		collect(ctx, tx, &st.GPUs, scanGPU, "SELECT "+gpuColumns+" FROM gpu_controls ORDER BY uuid"),
		collect(ctx, tx, &st.Usage, scanUsage, "SELECT "+usageColumns+" FROM usage ORDER BY account"),
		collect(ctx, tx, &st.Predictions, scanPrediction, "SELECT "+predictionColumns+" FROM predictions ORDER BY at, key"),
		collect(ctx, tx, &st.Reservations, scanReservation, "SELECT "+reservationColumns+" FROM reservations ORDER BY id"),
		collect(ctx, tx, &st.Owed, scanNotification, owedQuery),
		collect(ctx, tx, &st.Done, scanDone, doneQuery, keepDone),
	)
	slices.Reverse(st.Done)
	return st, err
}

// scanner reads the current row.
type scanner[T any] func(*sql.Rows) (T, error)

// collect makes a list of all rows of the query, or none after an error.
func collect[T any](ctx context.Context, q queryer, list *[]T, scan scanner[T], query string, args ...any) error {
	err := eachRow(ctx, q, query, func(rows *sql.Rows) error {
		v, err := scan(rows)
		*list = append(*list, v)
		return err
	}, args...)
	if err != nil {
		*list = nil // part of a list would pass for all of it
	}
	return err
}

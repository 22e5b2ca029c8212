package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// keepPredictions and keepDone limit data that is useful but not necessary. Without a stored
// prediction, a prediction is made from fewer runs. If the store does not recognise a job that is
// submitted again, the job runs again.
const (
	keepPredictions     = 100_000
	keepUserPredictions = 1000 // the scheduler keeps the same number per user in memory
	keepDone            = 100_000
)

// staleOfUser keeps only a limited number of each user's newest predictions, so that a user with
// many kinds of jobs does not displace the predictions of others. A key begins with the user's
// number.
const staleOfUser = `DELETE FROM predictions WHERE key IN (SELECT key FROM (SELECT key, row_number() OVER (
	PARTITION BY substr(key, 1, instr(key || ' ', ' ')) ORDER BY at DESC, key DESC) AS n FROM predictions) WHERE n > ?)`

// keepReservation is the time that a reservation is kept after its end.
const keepReservation = 24 * time.Hour

// prune removes data that is no longer needed, and the oldest predictions above the limits per user
// and in total.
func prune(ctx context.Context, db *sql.DB, now time.Time, predictions int) error {
	_, err := db.ExecContext(ctx, staleOfUser, keepUserPredictions)
	if err != nil {
		return fmt.Errorf("remove old predictions of a user: %w", err)
	}
	_, err = db.ExecContext(ctx, "DELETE FROM predictions WHERE (at, key) < (SELECT at, key FROM predictions ORDER BY at DESC, key DESC LIMIT 1 OFFSET ?)", predictions-1)
	if err != nil {
		return fmt.Errorf("remove old predictions: %w", err)
	}
	if _, err = db.ExecContext(ctx, "DELETE FROM reservations WHERE to_at < ?", formatTime(now.Add(-keepReservation))); err != nil {
		return fmt.Errorf("remove old reservations: %w", err)
	}
	if _, err = db.ExecContext(ctx, "DELETE FROM notifications WHERE job_id NOT IN (SELECT id FROM jobs)"); err != nil {
		return fmt.Errorf("remove messages about jobs that are forgotten: %w", err)
	}
	return nil
}

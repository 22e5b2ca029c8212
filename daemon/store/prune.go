package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// keepPredictions and keepDone bound what is loaded of things that only help:
// a prediction that is missing is made from less, a repetition that is not
// recognised runs again.
const (
	keepPredictions     = 100_000
	keepUserPredictions = 1000 // as many as the scheduler remembers of one user
	keepDone            = 100_000
)

// staleOfUser removes the oldest of a user above so many, so that one who runs many kinds of
// jobs does not push others' out. A key begins with the user's number.
const staleOfUser = `DELETE FROM predictions WHERE key IN (SELECT key FROM (SELECT key, row_number() OVER (
	PARTITION BY substr(key, 1, instr(key || ' ', ' ')) ORDER BY at DESC, key DESC) AS n FROM predictions) WHERE n > ?)`

// keepReservation is how long a reservation stays after its end.
const keepReservation = 24 * time.Hour

// prune removes what is not needed any more, and of the predictions the oldest
// of each user, and above so many.
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

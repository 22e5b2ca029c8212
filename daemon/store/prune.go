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
	keepPredictions = 100_000
	keepDone        = 100_000
)

// keepReservation is how long a reservation stays after its end.
const keepReservation = 24 * time.Hour

// prune removes what is not needed any more, and of the predictions the oldest
// above so many.
func prune(ctx context.Context, db *sql.DB, now time.Time, predictions int) error {
	_, err := db.ExecContext(ctx, "DELETE FROM predictions WHERE (at, key) < (SELECT at, key FROM predictions ORDER BY at DESC, key DESC LIMIT 1 OFFSET ?)", predictions-1)
	if err != nil {
		return fmt.Errorf("remove old predictions: %w", err)
	}
	if _, err = db.ExecContext(ctx, "DELETE FROM reservations WHERE to_at < ?", formatTime(now.Add(-keepReservation))); err != nil {
		return fmt.Errorf("remove old reservations: %w", err)
	}
	return nil
}

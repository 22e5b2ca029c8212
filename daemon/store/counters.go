package store

import (
	"context"
	"database/sql"

	"github.com/gpusched/gpusched/daemon/job"
)

// counters are the ids that are given out next. They only grow (invariant 3).
type counters struct {
	job         job.ID
	reservation int64
}

// pass makes the counters go past the ids of the record.
func (c *counters) pass(r job.Record) {
	if r.Job != nil {
		c.job = max(c.job, r.Job.ID+1)
	}
	if r.Reservation != nil {
		c.reservation = max(c.reservation, r.Reservation.ID+1)
	}
}

// setCounters is the statement that stores both.
const setCounters = "UPDATE meta SET value = CASE name WHEN 'next_id' THEN ?1 ELSE ?2 END WHERE name IN ('next_id', 'next_reservation')"

func readCounters(ctx context.Context, q interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (c counters, err error) {
	err = q.QueryRowContext(ctx, `SELECT (SELECT value FROM meta WHERE name = 'next_id'), (SELECT value FROM meta WHERE name = 'next_reservation')`).
		Scan(&c.job, &c.reservation)
	return c, err
}

package store

import (
	"context"
	"database/sql"

	"github.com/gpusched/gpusched/daemon/job"
)

// counters are the next ids to give out, and the number of the last event. Counters only grow
// (invariant 3).
type counters struct {
	job         job.ID
	reservation int64
	events      int64 // the number of the last event
}

// pass raises the counters above the ids of a record.
func (c *counters) pass(r job.Record) {
	if r.Job != nil {
		c.job = max(c.job, r.Job.ID+1)
	}
	if r.Reservation != nil {
		c.reservation = max(c.reservation, r.Reservation.ID+1)
	}
	c.events = max(c.events, r.Events)
}

// setCounters is the statement that stores the counters. Before the first event, the table has no
// row for events.
const setCounters = "INSERT INTO meta (name, value) VALUES ('next_id', ?1), ('next_reservation', ?2), ('events', ?3) " +
	"ON CONFLICT (name) DO UPDATE SET value = excluded.value"

func readCounters(ctx context.Context, q interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (c counters, err error) {
	err = q.QueryRowContext(ctx, `SELECT (SELECT value FROM meta WHERE name = 'next_id'), (SELECT value FROM meta WHERE name = 'next_reservation'),
		coalesce((SELECT value FROM meta WHERE name = 'events'), 0)`).Scan(&c.job, &c.reservation, &c.events)
	return c, err
}

package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/gpusched/gpusched/daemon/job"
)

// maxFaults is the largest number of faults that a check reports.
const maxFaults = 20

// quickCheck checks the structure of the tables that the scheduler needs. It leaves out payloads,
// by far the largest table: damage there is found by Check, or at the start of the job. SQLite's
// check also reports pages that it could not read, which does not mean damage. So the file counts
// as damaged only if every page can be read and a second check still finds a fault.
func quickCheck(ctx context.Context, db *sql.DB, path string) error {
	err := checkTables(ctx, db, path)
	if !errors.Is(err, job.ErrDamaged) {
		return err
	}
	if unread := readAll(ctx, db); unread != nil {
		return fmt.Errorf("%w (then %q: %v)", unread, path, err)
	}
	return checkTables(ctx, db, path)
}

func checkTables(ctx context.Context, db *sql.DB, path string) error {
	for _, table := range []string{
		"meta", "jobs", "attempts", "gpu_controls", "usage", "predictions", "reservations", "notifications",
	} {
		err := eachRow(ctx, db, "PRAGMA quick_check("+table+")", verdict)
		var f fault
		if errors.As(err, &f) {
			return &CorruptError{Path: path, Detail: "table " + table + ": " + string(f)}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readAll reads every page of the file.
func readAll(ctx context.Context, db *sql.DB) error {
	var bytes sql.NullInt64
	return db.QueryRowContext(ctx, "SELECT sum(length(data)) FROM sqlite_dbpage").Scan(&bytes)
}

// fault is a violation of a rule.
type fault string

func (f fault) Error() string { return string(f) }

// verdict returns a fault if a row of SQLite's own check is not "ok".
func verdict(rows *sql.Rows) error {
	var text string
	if err := rows.Scan(&text); err != nil {
		return err
	}
	if text != "ok" {
		return fault(text)
	}
	return nil
}

// Check verifies the whole file: SQLite's structure, the form of every row, and the invariants
// between rows. It reads everything, including payloads. The error lists up to 20 faults.
func (s *Store) Check(ctx context.Context) error {
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("check the state file: %w", classify(s.path, err))
	}
	defer tx.Rollback()
	c := checker{each: func(query string, f func(*sql.Rows) error) error { return eachRow(ctx, tx, query, f) }}
	c.structure()
	c.jobs()
	c.otherRows()
	c.relations()
	if len(c.faults) > 0 {
		return fmt.Errorf("check the state file %q: %w", s.path, errors.Join(c.faults...))
	}
	return nil
}

// checker collects faults of one snapshot of the file.
type checker struct {
	each   func(query string, f func(*sql.Rows) error) error
	faults []error
}

func (c *checker) fault(err error) {
	if err != nil && len(c.faults) < maxFaults {
		c.faults = append(c.faults, err)
	}
}

func (c *checker) faultf(format string, args ...any) { c.fault(fmt.Errorf(format, args...)) }

// eachRow calls f for each row of a query, and collects the errors.
func (c *checker) eachRow(query string, f func(*sql.Rows) error) {
	c.fault(c.each(query, func(rows *sql.Rows) error {
		c.fault(f(rows))
		return nil
	}))
}

func (c *checker) structure() {
	c.eachRow("PRAGMA integrity_check", verdict)
	c.eachRow("PRAGMA foreign_key_check", func(rows *sql.Rows) error {
		var table, parent string
		var row sql.NullInt64
		var key int
		if err := rows.Scan(&table, &row, &parent, &key); err != nil {
			return err
		}
		return fmt.Errorf("a row of %s names a row of %s that is not there", table, parent)
	})
}

func (c *checker) jobs() {
	c.eachRow(jobQuery+"ORDER BY j.id", func(rows *sql.Rows) error {
		j, err := scanJob(rows)
		if err != nil {
			return err
		}
		switch {
		case !j.State.Valid():
			c.faultf("job %d: state %q does not exist", j.ID, j.State)
		case j.State.Terminal() && (j.Result == nil || j.Result.Outcome != j.State):
			c.faultf("job %d: is %s but its result says %v", j.ID, j.State, j.Result)
		case !j.State.Terminal() && j.Result != nil:
			c.faultf("job %d: is %s but has a result", j.ID, j.State)
		case j.State.Live() && j.Attempt == nil:
			c.faultf("job %d: is %s without an attempt", j.ID, j.State)
		}
		return nil
	})
}

// otherRows decodes every row of the tables that are not about jobs.
func (c *checker) otherRows() {
	decode(c, scanAttempt, attemptColumns, "attempts")
	decode(c, scanGPU, gpuColumns, "gpu_controls")
	decode(c, scanUsage, usageColumns, "usage")
	decode(c, scanPrediction, predictionColumns, "predictions")
	decode(c, scanReservation, reservationColumns, "reservations")
	decode(c, scanNotification, notificationColumns, "notifications")
	decode(c, scanDirectory, directoryColumns, "directories")
	decode(c, func(rows *sql.Rows) (job.Payload, error) { return scanPayload(rows) }, payloadColumns, "payloads")
}

func decode[T any](c *checker, scan scanner[T], columns, table string) {
	c.eachRow("SELECT "+columns+" FROM "+table, func(rows *sql.Rows) error {
		_, err := scan(rows)
		return err
	})
}

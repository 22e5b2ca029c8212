package store

import (
	"context"
	"fmt"

	"github.com/gpusched/gpusched/daemon/job"
)

// Commit makes all records durable in one transaction, in the order given. It
// returns nil once they are on disk. After an error of the disk (Retryable)
// the same records may be committed again; whether the first try had reached
// the disk makes no difference. Cancelling ctx stops a Commit only before it
// has begun.
//
// The first record of a job fixes its key, owner, task and submission time;
// later ones change everything else. An array's first record comes before those
// of its tasks.
func (s *Store) Commit(ctx context.Context, records []job.Record) error {
	if len(records) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.write == nil {
		return fmt.Errorf("commit %d records: the store is open for reading only", len(records))
	}
	ctx = context.WithoutCancel(ctx)
	// A disk that is read-only gets nothing: what it takes all the same may reach
	// it or not, and a log that began anew over pages that were never synced would
	// cost, at a power cut, what was acknowledged before.
	if err := s.writable(); err != nil {
		return fmt.Errorf("commit %d records: %w", len(records), err)
	}
	if err := s.reserveIDs(records); err != nil {
		return fmt.Errorf("commit %d records: %w", len(records), err)
	}
	next, err := s.transact(ctx, records)
	if Retryable(err) && s.checkpointIfWritable(ctx) == nil {
		// The log now begins anew in the space that it has: on a full disk
		// changes go on, only growth does not.
		next, err = s.transact(ctx, records)
	}
	if err != nil {
		return fmt.Errorf("commit %d records: %w", len(records), classify(s.path, err))
	}
	if err := s.writable(); err != nil {
		return fmt.Errorf("commit %d records: %w", len(records), err)
	}
	s.next = next
	for _, r := range records {
		if r.Job != nil && r.Job.State.Terminal() {
			s.past.add(r.Job.Person().UID, r.Job.Owner.UID, pastBytes(r.Job))
		}
	}
	s.dirty += pagesOf(records)
	if s.dirty >= checkpointPages {
		_ = s.checkpointIfWritable(ctx) // the commit is durable in the log; the next one tries again
	}
	return nil
}

// checkpointIfWritable is checkpoint where the disk is not read-only before it, nor after: a kernel
// that has just made it so says that all is synced, and nothing is.
func (s *Store) checkpointIfWritable(ctx context.Context) error {
	if err := s.writable(); err != nil {
		return err
	}
	if err := s.checkpoint(ctx); err != nil {
		return err
	}
	return s.writable()
}

// transact writes the records and returns the next ids as they are then stored.
func (s *Store) transact(ctx context.Context, records []job.Record) (counters, error) {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return s.next, err
	}
	defer tx.Rollback()
	stmts := s.stmts.in(ctx, tx)
	next := s.next
	for _, r := range records {
		if err := stmts.record(ctx, r); err != nil {
			return s.next, err
		}
		next.pass(r)
	}
	if err := stmts.redact(ctx, records); err != nil {
		return s.next, err
	}
	if next != s.next {
		if _, err := stmts[putCounters].ExecContext(ctx, next.job, next.reservation, next.events); err != nil {
			return s.next, err
		}
	}
	return next, tx.Commit()
}

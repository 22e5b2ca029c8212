package store

import (
	"context"
	"fmt"

	"github.com/gpusched/gpusched/daemon/job"
)

// Commit makes all records durable in one transaction, in the given order. It returns nil once the
// records are on disk. After a disk error (see Retryable), the caller may commit the same records
// again, whether or not the first try reached the disk. Cancelling ctx stops a Commit only before
// it has begun.
//
// The first record of a job fixes its key, owner, task and submission time. Later records can
// change everything else. An array's first record must come before the first records of its tasks.
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
	// Nothing is written to a disk that has become read-only. Such a disk may accept a write
	// without storing it. If the log then started anew over pages that were never synced, a power
	// cut would lose acknowledged records.
	if err := s.checkWritable(); err != nil {
		return fmt.Errorf("commit %d records: %w", len(records), err)
	}
	if err := s.reserveIDs(records); err != nil {
		return fmt.Errorf("commit %d records: %w", len(records), err)
	}
	next, err := s.transact(ctx, records)
	if Retryable(err) && s.checkpointIfWritable(ctx) == nil {
		// The checkpoint has emptied the log without making its file shorter. So a full disk still
		// takes records that change something, and refuses only records that make the state file
		// grow.
		next, err = s.transact(ctx, records)
	}
	if err != nil {
		return fmt.Errorf("commit %d records: %w", len(records), classify(s.path, err))
	}
	if err := s.checkWritable(); err != nil {
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
		_ = s.checkpointIfWritable(ctx) // the commit is durable in the log; the next commit tries the checkpoint again
	}
	return nil
}

// checkpointIfWritable makes a checkpoint if the disk is not read-only. It checks the disk before
// and after the checkpoint: just after the kernel has made a disk read-only, the kernel reports a
// sync as done without doing it.
func (s *Store) checkpointIfWritable(ctx context.Context) error {
	if err := s.checkWritable(); err != nil {
		return err
	}
	if err := s.checkpoint(ctx); err != nil {
		return err
	}
	return s.checkWritable()
}

// transact writes the records, and returns the counters that are stored with them.
func (s *Store) transact(ctx context.Context, records []job.Record) (counters, error) {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return s.next, err
	}
	defer tx.Rollback()
	stmts := s.stmts.inTx(ctx, tx)
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

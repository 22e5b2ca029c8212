package store

import (
	"context"
	"fmt"
)

// Commit makes all records durable in one transaction, in the order given. It
// returns nil once they are on disk. After an error of the disk (Retryable)
// the same records may be committed again; whether the first try had reached
// the disk makes no difference. Cancelling ctx stops a Commit only before it
// has begun.
//
// The first record of a job fixes its key, owner, name and submission time;
// later ones change everything else.
func (s *Store) Commit(ctx context.Context, records []Record) error {
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
	next, err := s.transact(ctx, records)
	if Retryable(err) && s.fold(ctx) == nil {
		// The log now begins anew in the space that it has: on a full disk
		// changes go on, only growth does not.
		next, err = s.transact(ctx, records)
	}
	if err != nil {
		return fmt.Errorf("commit %d records: %w", len(records), classify(s.path, err))
	}
	s.nextID = next
	s.dirty += pagesOf(records)
	if s.dirty >= checkpointPages {
		_ = s.fold(ctx) // the commit is durable in the log; the next one tries again
	}
	return nil
}

// transact writes the records and returns the next id as it is then stored.
func (s *Store) transact(ctx context.Context, records []Record) (next int64, err error) {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	stmts := s.stmts.in(ctx, tx)
	next = s.nextID
	for _, r := range records {
		if err := stmts.record(ctx, r); err != nil {
			return 0, err
		}
		if r.Job != nil {
			next = max(next, int64(r.Job.ID)+1)
		}
	}
	if next != s.nextID {
		if _, err := stmts.nextID.ExecContext(ctx, next); err != nil {
			return 0, err
		}
	}
	return next, tx.Commit()
}

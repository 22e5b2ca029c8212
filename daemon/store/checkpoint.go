package store

import (
	"context"

	"github.com/gpusched/gpusched/daemon/job"
)

// checkpointPages is how much may gather in the log before it is folded into
// the file: 16 MiB at the most, mostly a quarter of that. What many commits write again and again goes
// into the file once, and of each checkpoint the disk is asked twice to sync.
const checkpointPages = 4000

// pagesOf estimates how many pages the records put into the log: a job touches
// its row, its attempt and their indexes.
func pagesOf(records []job.Record) int {
	pages := 2 + 4*len(records)
	for _, r := range records {
		if r.Payload != nil {
			pages += 2 + int(r.Payload.Size()/4096)
		}
	}
	return pages
}

// checkpoint writes the log's pages into the file, so that the log begins anew. It
// is an optimisation: what is in the log is durable there.
func (s *Store) checkpoint(ctx context.Context) error {
	var busy, pages, done int
	err := s.write.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &pages, &done)
	if err == nil && pages == done {
		s.dirty = 0 // else somebody reads an older state: the next commit tries again
	}
	return err
}

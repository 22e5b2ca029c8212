package store

import (
	"context"

	"github.com/gpusched/gpusched/daemon/job"
)

// checkpointPages is the number of pages in the log at which a checkpoint moves them into the file.
// These pages take at most 16 MiB, and usually a quarter of that. The number is large because each
// checkpoint costs two syncs, and because a checkpoint moves a page only once, however many commits
// have written it.
const checkpointPages = 4000

// pagesOf estimates the number of pages that the records add to the log. A job changes its row, its
// attempt and their indexes.
func pagesOf(records []job.Record) int {
	pages := 2 + 4*len(records)
	for _, r := range records {
		if r.Payload != nil {
			pages += 2 + int(r.Payload.Size()/4096)
		}
	}
	return pages
}

// checkpoint moves the log's pages into the file, so that the log starts again from its beginning.
// This only saves space and time: pages in the log are already durable.
func (s *Store) checkpoint(ctx context.Context) error {
	var busy, pages, done int
	err := s.write.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &pages, &done)
	if err == nil && pages == done {
		s.dirty = 0 // if a reader still reads an older state, the next commit tries again
	}
	return err
}

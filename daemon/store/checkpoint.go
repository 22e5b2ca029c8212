package store

import "context"

// checkpointPages is how much may gather in the log before it is folded into
// the file: 4 MiB, as SQLite itself would do.
const checkpointPages = 1000

// pagesOf estimates how many pages the records put into the log: a job touches
// its row, its attempt and their indexes.
func pagesOf(records []Record) int {
	pages := 2
	for _, r := range records {
		pages += 4
		if r.Payload != nil {
			for _, s := range r.Payload.Env {
				pages += len(s) / 4096
			}
			pages += 2 + len(r.Payload.Env)/100
		}
	}
	return pages
}

// checkpoint folds the log into the file when enough has gathered. It is an
// optimisation: where it fails (a full disk) the commits stay durable in the
// log and the next one tries again.
func (s *Store) checkpoint(ctx context.Context) {
	if s.dirty < checkpointPages {
		return
	}
	if _, err := s.write.ExecContext(context.WithoutCancel(ctx), "PRAGMA wal_checkpoint(PASSIVE)"); err == nil {
		s.dirty = 0
	}
}

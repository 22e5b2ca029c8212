package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gpusched/gpusched/daemon/job"
)

// idBlock is how many ids are set apart at once.
const idBlock = 1000

// idsPath is the file that says, beside the state file, below which ids some may
// have been given out. It outlives a state file that is damaged or taken away,
// so that ids are not given out twice (invariant 3): users have them in their
// scripts, and units and journals of jobs are named after them.
func idsPath(path string) string { return path + ".ids" }

// recallIDs begins an empty state file where the one before it left off. A file
// of ids that is missing or makes no sense says nothing.
func (s *Store) recallIDs() error {
	data, err := s.disk.read(idsPath(s.path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var bound counters
	if _, err := fmt.Sscanf(string(data), "job %d\nreservation %d\n", &bound.job, &bound.reservation); err != nil {
		return nil
	}
	s.bound = bound
	empty := s.next.job <= 1 && s.next.reservation <= 1
	// One that is far behind is an older copy that was put back.
	old := s.next.job < bound.job-idBlock || s.next.reservation < bound.reservation-idBlock
	if !empty && !old {
		return nil
	}
	s.next.job, s.next.reservation = max(s.next.job, bound.job), max(s.next.reservation, bound.reservation)
	_, err = s.write.Exec(setCounters, s.next.job, s.next.reservation, s.next.events)
	return err
}

// reserveIDs sees to it that the ids of the records are below the bound on disk
// before the records are. It renews the bound well before it is needed, so that
// a full disk does not stop everything at once.
func (s *Store) reserveIDs(records []job.Record) error {
	next := s.next
	for _, r := range records {
		next.pass(r)
	}
	near := func(next, bound job.ID) bool { return next > 1 && next > bound-idBlock/2 }
	if !near(next.job, s.bound.job) && !near(job.ID(next.reservation), job.ID(s.bound.reservation)) {
		return nil
	}
	bound := counters{
		job: max(s.bound.job, next.job+idBlock), reservation: max(s.bound.reservation, next.reservation+idBlock),
	}
	err := s.disk.writeIDs(idsPath(s.path), bound)
	if err == nil {
		s.bound = bound
	} else if next.job <= s.bound.job && next.reservation <= max(s.bound.reservation, 1) {
		return nil // there is room; the next commit tries again
	}
	return err
}

// writeIDs replaces the file in one step that is on disk afterwards.
func (d disk) writeIDs(path string, bound counters) error {
	tmp := path + ".new"
	f, err := d.open(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	if err := d.finish(f, fmt.Sprintf("job %d\nreservation %d\n", bound.job, bound.reservation)); err != nil {
		return err
	}
	if err := d.rename(tmp, path); err != nil {
		return err
	}
	return d.syncDir(filepath.Dir(path))
}

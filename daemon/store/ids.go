package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gpusched/gpusched/daemon/job"
)

// idBlock is the number of ids that are reserved at once.
const idBlock = 1000

// idsPath returns the path of the file with an upper bound for the ids: all ids that were given out
// are below the bound. The file stays if the state file beside it is damaged, removed, or replaced
// by an older copy. So no id is given out twice (invariant 3). This matters because users' scripts
// contain ids, and units and journals are named after them.
func idsPath(path string) string { return path + ".ids" }

// lastPath returns the path of the file with the next ids to give out. They are below the bound in
// idsPath. Each commit that gives out ids writes the file, but only Close syncs it. So it survives
// the death of the daemon, but not a power cut. The same is true for the file in Options.LastIDs.
func lastPath(path string) string { return path + ".last" }

// idsForm is the format of the files idsPath and lastPath. Its width is fixed, so that the last ids
// can be overwritten in place.
const idsForm = "job %020d\nreservation %020d\n"

// idsLength is the length of a text in idsForm. It is even, see checkWritable.
const idsLength = 58

// recallIDs sets the next ids above all ids that were given out. The state file may be empty or an
// older copy. After a power cut, the file of the last ids may be too old as well. So the ids
// continue at the bound in two cases: if the state file has no id, or if the known ids, including
// the last ids, are far below the bound. A file of ids that is missing or invalid is ignored.
func (s *Store) recallIDs() (err error) {
	if s.bound, err = s.disk.readIDs(idsPath(s.path)); err != nil {
		return err
	}
	last, err := s.disk.readIDs(lastPath(s.path))
	if err != nil {
		return err
	}
	next := s.next
	empty := next.job <= 1 && next.reservation <= 1
	next.reach(last)
	next.reach(s.openCopy())
	if empty || next.job < s.bound.job-idBlock || next.reservation < s.bound.reservation-idBlock {
		next.reach(s.bound)
	}
	if next == s.next {
		return nil
	}
	s.next = next
	_, err = s.write.Exec(setCounters, s.next.job, s.next.reservation, s.next.events)
	return err
}

// openCopy opens the second file of the newest ids, in Options.LastIDs, and returns its ids.
func (s *Store) openCopy() (ids counters) {
	if s.opts.LastIDs == "" {
		return ids
	}
	path := filepath.Join(s.opts.LastIDs, filepath.Base(lastPath(s.path)))
	ids, _ = s.disk.readIDs(path)
	if f, err := s.disk.open(path, os.O_WRONLY|os.O_CREATE|syscall.O_NOFOLLOW); err == nil {
		s.copy = f
	}
	return ids
}

// reach replaces each id in c with the id in o if the id in o is higher.
func (c *counters) reach(o counters) {
	c.job, c.reservation = max(c.job, o.job), max(c.reservation, o.reservation)
}

// readIDs reads a file of ids. It returns no ids if the file is missing or invalid.
func (d disk) readIDs(path string) (counters, error) {
	data, err := d.read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return counters{}, err
	}
	var c counters
	if _, err := fmt.Sscanf(string(data), "job %d\nreservation %d\n", &c.job, &c.reservation); err != nil {
		return counters{}, nil
	}
	return c, nil
}

// openLast opens the file of the last ids, unless it is already open.
func (s *Store) openLast() (err error) {
	if s.last == nil {
		s.last, err = s.disk.open(lastPath(s.path), os.O_WRONLY|os.O_CREATE|syscall.O_NOFOLLOW)
	}
	return err
}

// recordLast overwrites the file of the last ids in place.
func (s *Store) recordLast(next counters) error {
	err := s.openLast()
	if err == nil {
		err = s.disk.ask("write file", s.last.Name())
	}
	if err == nil {
		text := fmt.Appendf(nil, idsForm, next.job, next.reservation)
		_, err = s.last.WriteAt(text, 0)
		if s.copy != nil {
			_, _ = s.copy.WriteAt(text, 0)
		}
	}
	return err
}

// closeLast syncs and closes the file of the last ids.
func (d disk) closeLast(f *os.File) error {
	err := d.ask("sync file", f.Name())
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// reserveIDs is called before the records are written. It makes sure that the records' ids are in
// the file of the last ids, and below the bound on disk.
func (s *Store) reserveIDs(records []job.Record) error {
	next := s.next
	for _, r := range records {
		next.pass(r)
	}
	err := s.reserveBlock(next)
	if err == nil && (next.job != s.next.job || next.reservation != s.next.reservation) {
		err = s.recordLast(next)
	}
	return err
}

// reserveBlock raises the bound on disk long before the ids reach it, so that commits still succeed
// for some time if the disk is full.
func (s *Store) reserveBlock(next counters) error {
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
		return nil // some ids below the bound are left; the next commit tries again
	}
	return err
}

// writeIDs replaces the file atomically, and syncs it.
func (d disk) writeIDs(path string, bound counters) error {
	tmp := path + ".new"
	f, err := d.open(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	if err := d.finish(f, fmt.Sprintf(idsForm, bound.job, bound.reservation)); err != nil {
		return err
	}
	if err := d.rename(tmp, path); err != nil {
		return err
	}
	return d.syncDir(filepath.Dir(path))
}

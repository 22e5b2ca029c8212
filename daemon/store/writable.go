package store

import (
	"errors"
	"fmt"
	"syscall"
)

// checkWritable returns an error if the disk of the state file has become read-only. The kernel may
// make a disk read-only while files are open, after an error or by command. ext4 then still accepts
// writes to these files, and reports syncs as done although they were not. After an error, the disk
// refuses changes some milliseconds before statfs shows that it is read-only: the journal of ext4
// then accepts no changes. Therefore checkWritable changes the length of the file of the last ids.
// If this change succeeds, all earlier syncs are on disk.
//
// A disk that is writable again may still lack what was written while it was not, in particular what
// a checkpoint moved. Therefore the first check that succeeds again syncs the disk. If this sync
// fails, all later checks fail: the kernel reports data that it could not write only once, so that a
// second sync would succeed without that data. The data is still in the log. Close then keeps the
// log, and all of it is moved again once the file is opened again, unless another process had it
// open in between.
func (s *Store) checkWritable() error {
	if s.lost != nil {
		return s.lost
	}
	err := s.takesChanges()
	if err == nil && s.unsynced {
		if err = s.disk.syncDisk(s.dir); err != nil {
			s.lost = fmt.Errorf("sync the disk of %q: %w (check the disk, then run: systemctl restart gpusched; jobs go on)", s.path, err)
			return s.lost
		}
		err = s.takesChanges()
	}
	s.unsynced = err != nil
	return err
}

// takesChanges returns an error if the disk is read-only now.
func (s *Store) takesChanges() error {
	const readOnly = 1 // ST_RDONLY
	var st syscall.Statfs_t
	if err := s.disk.statfs(s.path, &st); err != nil {
		return fmt.Errorf("check the disk of %q: %w", s.path, err)
	}
	if st.Flags&readOnly != 0 {
		return fmt.Errorf("%q: %w", s.path, syscall.EROFS)
	}
	err := s.resizeLast()
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) { // a full disk still accepts writes that fit
		return nil
	}
	return err
}

// resizeLast changes the file of the last ids between its two lengths.
func (s *Store) resizeLast() error {
	if err := s.openLast(); err != nil {
		return err
	}
	st, err := s.last.Stat()
	if err != nil {
		return err
	}
	return s.disk.resize(s.last, idsLength+(st.Size()+1)%2)
}

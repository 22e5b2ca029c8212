package store

import (
	"errors"
	"fmt"
	"syscall"
)

// writable returns an error where the disk of the state has become read-only. Where the kernel makes it so under open
// files, after an error or by hand, ext4 takes writes to them and reports a sync that did nothing as done.
//
// After an error it does so some milliseconds before statfs shows that the disk is read-only. By then its journal takes
// no changes, so the file of the last ids gets another length: if that is done, all that was synced before is on disk.
func (s *Store) writable() error {
	const readOnly = 1 // ST_RDONLY
	var st syscall.Statfs_t
	if err := s.disk.statfs(s.path, &st); err != nil {
		return fmt.Errorf("looking at the disk of %q: %w", s.path, err)
	}
	if st.Flags&readOnly != 0 {
		return fmt.Errorf("%q: %w", s.path, syscall.EROFS)
	}
	err := s.openLast()
	if err == nil {
		s.size = idsLength + (s.size+1)%2
		err = s.disk.resize(s.last, s.size)
	}
	if errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EIO) { // a full disk is none of these
		return err
	}
	return nil
}

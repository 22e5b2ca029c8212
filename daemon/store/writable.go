package store

import (
	"errors"
	"fmt"
	"syscall"
)

// writable returns an error if the state's disk has become read-only. When the kernel makes a disk
// read-only under open files, after an error or by command, ext4 still accepts writes to them and
// reports syncs as done that were not.
//
// After an error it does so some milliseconds before statfs shows the disk as read-only. By then
// its journal accepts no changes. Therefore writable changes the length of the file of the last
// ids: if that succeeds, everything that was synced before is on disk.
func (s *Store) writable() error {
	const readOnly = 1 // ST_RDONLY
	var st syscall.Statfs_t
	if err := s.disk.statfs(s.path, &st); err != nil {
		return fmt.Errorf("check the disk of %q: %w", s.path, err)
	}
	if st.Flags&readOnly != 0 {
		return fmt.Errorf("%q: %w", s.path, syscall.EROFS)
	}
	err := s.resizeLast()
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) { // a full disk accepts what it has room for
		return nil
	}
	return err
}

// resizeLast gives the file of the last ids the other of its two lengths.
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

package launch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gpusched/gpusched/units/contract"
)

// removeSnapshot removes the copy of a job's code. What the job has written there stays, since
// nobody else has it, and so do the files beside the copy that say what it is.
func removeSnapshot(dir string, made fs.FileInfo) error {
	r := snapshotRemover{since: made.Sys().(*syscall.Stat_t)}
	entries, err := os.ReadDir(dir)
	kept := false
	for _, e := range entries {
		switch name := filepath.Join(dir, e.Name()); {
		case e.Name() == contract.SnapshotRepository:
			err = errors.Join(err, removeWhole(name))
		case e.IsDir():
			stays, failed := r.remove(name)
			kept, err = kept || stays, errors.Join(err, failed)
		}
	}
	if kept || err != nil {
		return err
	}
	return removeWhole(dir)
}

// snapshotRemover removes what was there at the time of a file's last change.
type snapshotRemover struct{ since *syscall.Stat_t }

// remove removes a file or directory, and reports whether it, or anything in it, stays.
func (r *snapshotRemover) remove(name string) (stays bool, err error) {
	info, err := os.Lstat(name)
	if err != nil {
		return false, err
	}
	st, base := info.Sys().(*syscall.Stat_t), filepath.Base(name)
	switch {
	case st.Dev != r.since.Dev:
		return true, nil
	case base == "__pycache__":
		return false, removeWhole(name)
	case !info.IsDir():
		changed, since := syscall.TimespecToNsec(st.Ctim), syscall.TimespecToNsec(r.since.Ctim)
		if changed > since {
			return true, nil
		}
		return false, os.Remove(name)
	}
	entries, err := os.ReadDir(name)
	for _, e := range entries {
		one, failed := r.remove(filepath.Join(name, e.Name()))
		stays, err = stays || one, errors.Join(err, failed)
	}
	if stays || err != nil {
		return stays, err
	}
	return false, os.Remove(name)
}

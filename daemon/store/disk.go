package store

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// disk makes the store's own file system calls. SQLite makes its calls itself.
type disk struct {
	// judge is called before each call, with the call's kind and path. If judge returns an error,
	// the call is not made and fails with that error. A nil judge allows every call.
	judge func(op, path string) error
}

func (d disk) ask(op, path string) error {
	if d.judge == nil {
		return nil
	}
	return d.judge(op, path)
}

func (d disk) open(path string, flags int) (*os.File, error) {
	if err := d.ask("open file", path); err != nil {
		return nil, err
	}
	return os.OpenFile(path, flags, 0o600)
}

func (d disk) lock(f *os.File) error {
	if err := d.ask("lock file", f.Name()); err != nil {
		return err
	}
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// unlock releases a lock and closes its file. Closing the file is not enough: a process that was
// just forked has all descriptors until its exec, and would keep the lock.
func unlock(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}

func (d disk) look(path string) (fs.FileInfo, error) {
	if err := d.ask("look", path); err != nil {
		return nil, err
	}
	return os.Lstat(path)
}

// exists reports whether there is a file at path. If it returns an error, this is unknown.
func (d disk) exists(path string) (bool, error) {
	_, err := d.look(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (d disk) chmod(path string) error {
	if err := d.ask("chmod", path); err != nil {
		return err
	}
	return os.Chmod(path, 0o600)
}

func (d disk) read(path string) ([]byte, error) {
	if err := d.ask("read file", path); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// finish writes the text, if any, syncs the file and closes it.
func (d disk) finish(f *os.File, text string) error {
	err := d.ask("write file", f.Name())
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err == nil {
		err = d.ask("sync file", f.Name())
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func (d disk) resize(f *os.File, size int64) error {
	if err := d.ask("resize file", f.Name()); err != nil {
		return err
	}
	return f.Truncate(size)
}

func (d disk) rename(from, to string) error {
	if err := d.ask("rename", from); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// remove removes the file at path, if there is one.
func (d disk) remove(path string) error {
	err := d.ask("remove", path)
	if err == nil {
		err = os.Remove(path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// statfs returns the state of the file system of the file at path.
func (d disk) statfs(path string, st *syscall.Statfs_t) error {
	if err := d.ask("statfs", path); err != nil {
		return err
	}
	return syscall.Statfs(path, st)
}

// syncDir makes the file names in dir durable.
func (d disk) syncDir(dir string) error {
	f, err := d.open(dir, os.O_RDONLY)
	if err != nil {
		return err
	}
	if err = d.ask("sync names", dir); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDisk makes everything durable that was written to the file system of dir. A sync of the files
// of SQLite would need a second descriptor of each, and closing it would release SQLite's locks.
func (d disk) syncDisk(dir *os.File) error {
	if err := d.ask("sync disk", dir.Name()); err != nil {
		return err
	}
	return unix.Syncfs(int(dir.Fd()))
}

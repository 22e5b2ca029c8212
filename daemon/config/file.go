package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// MaxFileBytes limits the size of one file. So it also limits how deep the parser must nest.
const MaxFileBytes = 256 << 10

// Files returns the files that apply, in order: first main, then the *.toml files of dir, by name.
// It leaves out files that do not exist, hidden files, and files with other suffixes, such as those
// that editors and package managers leave behind.
func Files(main, dir string) ([]string, error) {
	var files []string
	switch _, err := os.Lstat(main); {
	case err == nil:
		files = append(files, main)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("look for settings: %w", err)
	}
	entries, err := os.ReadDir(dir) // sorted by name
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for settings: %w", err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".toml") && !strings.HasPrefix(e.Name(), ".") {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return slices.Clip(files), nil
}

// Misnamed returns the files of dir that Files leaves out although somebody may have meant them as
// settings.
func Misnamed(dir string) (names []string) {
	entries, _ := os.ReadDir(dir) // Files reports the error
	for _, e := range entries {
		name := strings.ToLower(e.Name())
		meant := slices.ContainsFunc([]string{".toml", ".conf", ".cfg", ".ini", ".toml.txt"}, func(end string) bool {
			return strings.HasSuffix(name, end)
		})
		if meant && !strings.HasSuffix(e.Name(), ".toml") && !strings.HasPrefix(name, ".") {
			names = append(names, filepath.Join(dir, e.Name()))
		}
	}
	return names
}

// OwnerCheck returns an error if anybody other than the permitted users can change an open file.
type OwnerCheck func(fs.FileInfo) error

// OwnedBy accepts files that belong to root or to one user, and that nobody else can change.
func OwnedBy(uid int) OwnerCheck {
	return func(info fs.FileInfo) error {
		st, ok := info.Sys().(*syscall.Stat_t)
		switch {
		case ok && st.Uid == 0 && uid != 0:
			return RootOnly(info)
		case !ok || int(st.Uid) != uid:
			return errors.New("it belongs neither to you nor to root")
		}
		if mode := info.Mode().Perm(); mode&0o022 != 0 {
			return fmt.Errorf("other users can write it (mode %04o): 'chmod go-w' it", mode)
		}
		return nil
	}
}

// RootOnly accepts files that belong to root and that root alone can change.
func RootOnly(info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return errors.New("its owner is not known")
	}
	mode := info.Mode().Perm()
	switch {
	case st.Uid != 0:
		return fmt.Errorf("it belongs to uid %d, not to root: the daemon acts on it as root ('chown root:root' it after reading it)", st.Uid)
	case mode&0o002 != 0:
		return fmt.Errorf("everybody can write it (mode %04o): 'chmod 0644' it", mode)
	case mode&0o020 != 0 && st.Gid != 0:
		return fmt.Errorf("group %d can write it (mode %04o): 'chmod 0644' it", st.Gid, mode)
	}
	return nil
}

// AnyOwner accepts every file. It is used to check drafts, which have no effect.
func AnyOwner(fs.FileInfo) error { return nil }

// readFile reads one file. It checks the owner of the open file and not of the path, so it reads
// exactly the file that it checked.
func readFile(path string, owner OwnerCheck) ([]byte, error) {
	// Without O_NONBLOCK a FIFO would block the daemon for ever.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, withoutPath(err)
	}
	if info.IsDir() {
		return nil, errors.New("it is a directory")
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("it is not a regular file (%s)", info.Mode().Type())
	}
	if err := owner(info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err != nil {
		return nil, withoutPath(err)
	}
	if len(data) > MaxFileBytes {
		return nil, fmt.Errorf("it has more than %d bytes", MaxFileBytes)
	}
	return data, nil
}

// withoutPath removes the path from an error, because the problem already names it.
func withoutPath(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

package jobenv

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
)

// These are limits for the copies of scripts that sbatch makes: their size, and the time since
// their last submission.
const (
	maxKeptScript = 4 << 20
	keptFor       = 90 * 24 * time.Hour
)

func ReadKept(from io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxKeptScript+1))
	if err == nil && len(text) > maxKeptScript {
		err = cli.Usagef("the script is larger than %d MiB", maxKeptScript>>20)
	}
	return text, err
}

// KeepText saves a script in a file that only its user can read. It returns the path. Scripts with
// the same text and name share a file.
func KeepText(a *cli.App, name string, text []byte) (string, error) {
	sum := sha256.Sum256(append([]byte(name+"\x00"), text...))
	id := hex.EncodeToString(sum[:16])
	bucket := filepath.Join(StateDir(a), "scripts", id[:2])
	dir := filepath.Join(bucket, id[2:])
	path := filepath.Join(dir, name)
	now := a.Out.Now
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return path, os.Chtimes(dir, now, now)
	}
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		deleteStale(bucket, now)
		err = ReplaceFile(path, text, 0o700)
	}
	if err != nil {
		return "", cli.Refuse(api.CodeInternal, "the job's copy of its script is kept there", "%v", err)
	}
	return path, nil
}

// ReplaceFile atomically replaces a file or link.
func ReplaceFile(path string, text []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".gpusched-") // not the file's name, which may have the maximum length
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// deleteStale deletes scripts from a directory if their last submission is longer ago than keptFor.
func deleteStale(bucket string, now time.Time) {
	entries, _ := os.ReadDir(bucket)
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().Type() == fs.ModeDir && now.Sub(info.ModTime()) > keptFor {
			os.RemoveAll(filepath.Join(bucket, e.Name()))
		}
	}
}

// StateDir returns the directory in which gpusched keeps its own files for a user.
func StateDir(a *cli.App) string {
	dir := a.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(a.Getenv("HOME"), ".local", "state")
	}
	return filepath.Join(dir, "gpusched")
}

// OpenRegular opens a regular file without ever blocking. If it fails, it returns nil.
func OpenRegular(path string) (*os.File, os.FileInfo) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, nil
	}
	return f, info
}

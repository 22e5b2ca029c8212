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

// Bounds of the scripts that sbatch keeps: how large one can be, and how long one stays that nobody submits again.
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

// KeepText writes a script where only its user reads it, and returns the path. Scripts with the same
// text and name are one file.
func KeepText(a *cli.App, name string, text []byte) (string, error) {
	sum := sha256.Sum256(append([]byte(name+"\x00"), text...))
	id := hex.EncodeToString(sum[:16])
	shelf := filepath.Join(StateDir(a), "scripts", id[:2])
	dir := filepath.Join(shelf, id[2:])
	path := filepath.Join(dir, name)
	now := a.Out.Now
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return path, os.Chtimes(dir, now, now)
	}
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		clearShelf(shelf, now)
		err = writeWhole(dir, path, text)
	}
	if err != nil {
		return "", cli.Refuse(api.CodeInternal, "the job's copy of its script is kept there", "%v", err)
	}
	return path, nil
}

// writeWhole writes a file that is there as a whole, or not at all.
func writeWhole(dir, path string, text []byte) error {
	f, err := os.CreateTemp(dir, ".new")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(0o700), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// clearShelf takes away the scripts beside a new one that have not been submitted for long.
func clearShelf(shelf string, now time.Time) {
	entries, _ := os.ReadDir(shelf)
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().Type() == fs.ModeDir && now.Sub(info.ModTime()) > keptFor {
			os.RemoveAll(filepath.Join(shelf, e.Name()))
		}
	}
}

// StateDir is where this program keeps what it has to remember of a user's.
func StateDir(a *cli.App) string {
	dir := a.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(a.Getenv("HOME"), ".local", "state")
	}
	return filepath.Join(dir, "gpusched")
}

// OpenRegular opens a file that is one, and waits for nothing; nil is that it can't.
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

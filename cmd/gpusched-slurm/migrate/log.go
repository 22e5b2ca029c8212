package migrate

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// moveLine is a line of the file in which a user's moves are noted: that a job is to be held,
// that an sbatch begins for it, and which one it has become. What was noted last counts.
type moveLine struct {
	Key    string    `json:"key"` // of the job: its machine, number and submission
	Job    job.ID    `json:"job"`
	Held   bool      `json:"held,omitempty"`   // whether its owner held it
	At     time.Time `json:"at,omitzero"`      // when sbatch was about to run for it; zero: Slurm hasn't got it
	Conf   string    `json:"conf,omitempty"`   // the cluster that it was for, by SLURM_CONF
	Slurm  job.ID    `json:"slurm,omitempty"`  // 0: not known to be submitted
	Closed bool      `json:"closed,omitempty"` // it was let go, and nothing that was noted before counts
}

// moveLog is that file, locked while it is open.
type moveLog struct {
	file  *os.File
	lines map[string]moveLine // by key, those that count
}

// openMoves opens the user's.
func openMoves(s *engines.Shell) (*moveLog, error) {
	dir := engines.Variable(s.Environ, "XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(s.Home, ".local", "state")
	}
	if !filepath.IsAbs(dir) {
		return nil, engines.Refuse(api.CodeUsage, "set HOME", "what has been moved is noted in the home directory, and HOME is not an absolute path")
	}
	dir = filepath.Join(dir, "gpusched")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, engines.Refuse(api.CodeInternal, "what has been moved is noted there", "%v", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "moved.jsonl"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, engines.Refuse(api.CodeInternal, "what has been moved is noted there", "%v", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, engines.Refuse(api.CodeConflict, "wait until it is done", "another 'gpusched migrate' of yours is at work")
	}
	// An sbatch that outlives this process has the lock, too: what it submits is not known yet.
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETFD, 0); err != nil {
		f.Close()
		return nil, err
	}
	l := &moveLog{file: f, lines: map[string]moveLine{}}
	in := bufio.NewReader(f)
	good := int64(0) // a line that a crash cut short is dropped
	for {
		text, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		good += int64(len(text))
		var line moveLine
		if json.Unmarshal(text, &line) == nil && line.Key != "" {
			l.put(line)
		}
	}
	if err := f.Truncate(good); err != nil {
		f.Close()
		return nil, err
	}
	_, err = f.Seek(good, 0)
	return l, err
}

// close lets others have the file, whoever has inherited the lock.
func (l *moveLog) close() {
	_ = syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN)
	l.file.Close()
}

func (l *moveLog) put(line moveLine) {
	if line.Closed {
		delete(l.lines, line.Key)
		return
	}
	l.lines[line.Key] = line
}

// note has a line on disk when it returns without an error. One that is written in part is
// taken out again, so that the next one is not lost behind it.
func (l *moveLog) note(line moveLine) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	end, err := l.file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := l.file.Write(append(text, '\n')); err != nil {
		return errors.Join(fmt.Errorf("note what is moved: %w", err), l.file.Truncate(end))
	}
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("note what is moved: %w", err)
	}
	l.put(line)
	return nil
}

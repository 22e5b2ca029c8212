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

// A moveLine is one record in the user's log of moves. It says that
// a job will be held, that an sbatch starts for the job, or which
// job in Slurm it has become. The last record about a job counts.
type moveLine struct {
	Key    string    `json:"key"` // the job's machine, id and time of submission
	Job    job.ID    `json:"job"`
	Held   bool      `json:"held,omitempty"`   // its owner had already held the job
	At     time.Time `json:"at,omitzero"`      // time just before sbatch ran; zero if the job is not in Slurm
	Conf   string    `json:"conf,omitempty"`   // SLURM_CONF at that time, which selects the cluster
	Slurm  job.ID    `json:"slurm,omitempty"`  // id in Slurm; 0 if it is not known that the job was submitted
	Closed bool      `json:"closed,omitempty"` // the move was undone, so earlier records no longer count
}

// A moveLog is the user's log of moves. It is locked while it is open.
type moveLog struct {
	file  *os.File
	lines map[string]moveLine // last record about each job, by key
}

// openMoves opens and locks the user's log.
func openMoves(s *engines.Shell) (*moveLog, error) {
	dir := engines.Variable(s.Environ, "XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(s.Home, ".local", "state")
	}
	if !filepath.IsAbs(dir) {
		return nil, engines.Refuse(api.CodeUsage, "set HOME", "moves are recorded in the home directory, and HOME is not an absolute path")
	}
	dir = filepath.Join(dir, "gpusched")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, engines.Refuse(api.CodeInternal, "moves are recorded there", "%v", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "moved.jsonl"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, engines.Refuse(api.CodeInternal, "moves are recorded there", "%v", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, engines.Refuse(api.CodeConflict, "wait until it is done", "another 'gpusched migrate' of yours is running")
	}
	// An sbatch that survives this process keeps the lock.
	// Until sbatch ends, nobody knows whether it submits a job.
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETFD, 0); err != nil {
		f.Close()
		return nil, err
	}
	l := &moveLog{file: f, lines: map[string]moveLine{}}
	in := bufio.NewReader(f)
	good := int64(0) // offset after the last complete line; a crash may have cut a later line short
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

// close closes the file. It also unlocks the file for processes that inherited the lock.
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

// note appends a record and syncs it to disk. If only a part of the record is written, note removes
// the part, which would make the next record unreadable.
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
		return errors.Join(fmt.Errorf("record the move: %w", err), l.file.Truncate(end))
	}
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("record the move: %w", err)
	}
	l.put(line)
	return nil
}

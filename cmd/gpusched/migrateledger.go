//go:build !quick

package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// moveLine is a line of the file in which a user's moves are noted: first that a job is
// going to be moved, then which one it has become. What was noted last counts.
type moveLine struct {
	Key   string    `json:"key"` // of the job: its machine, number and submission
	Job   job.ID    `json:"job"`
	At    time.Time `json:"at"`              // when it was noted first: nothing of it was submitted before
	Held  bool      `json:"held,omitempty"`  // whether it was held then already
	Slurm job.ID    `json:"slurm,omitempty"` // 0: not known to be submitted
}

// moveLog is that file, locked while it is open.
type moveLog struct {
	file  *os.File
	lines map[string]moveLine // by key
	order []string
}

// openMoves opens the user's.
func (a *app) openMoves() (*moveLog, error) {
	dir := a.getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(a.getenv("HOME"), ".local", "state")
	}
	dir = filepath.Join(dir, "gpusched")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, refuse(api.CodeInternal, "what has been moved is noted there", "%v", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "moved.jsonl"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, refuse(api.CodeInternal, "what has been moved is noted there", "%v", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, refuse(api.CodeConflict, "wait until it is done", "another 'gpusched migrate' of yours is at work")
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

func (l *moveLog) put(line moveLine) {
	if _, known := l.lines[line.Key]; !known {
		l.order = append(l.order, line.Key)
	}
	l.lines[line.Key] = line
}

// note has a line on disk when it returns.
func (l *moveLog) note(line moveLine) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if _, err := l.file.Write(append(text, '\n')); err != nil {
		return err
	}
	if err := l.file.Sync(); err != nil {
		return err
	}
	l.put(line)
	return nil
}

// moved is what a job of this machine has become, by the number that it had here.
func (l *moveLog) moved(host string, id job.ID) (to job.ID) {
	for _, key := range l.order {
		if line := l.lines[key]; line.Job == id && line.Slurm != 0 && hostOfKey(key) == host {
			to = line.Slurm
		}
	}
	return to
}

package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// ledger has which entries of a file of jobs have become jobs. It is a file of the
// user's, locked while it is open. An entry is noted after its job is queued; who dies
// in between asks again with the same request key, on which the daemon queues nothing
// twice. Slurm has no such keys: there it is looked first for what has one (finder).
type ledger struct {
	file  *os.File // nil: nothing is noted, as for a pipe
	head  ledgerHead
	begun bool              // the head is written
	again bool              // it was written before: what died in between may be a job
	jobs  map[string]job.ID // by key
}

// ledgerHead is the first line.
type ledgerHead struct {
	Schema string `json:"schema"`
	Path   string `json:"path"`
	Run    string `json:"run"` // part of each key: another run of the same lines makes other jobs
	Top    int    `json:"top"` // the rank that goes first, which is queued as 0
}

// ledgerLine is each further line.
type ledgerLine struct {
	Key string `json:"key"`
	Job job.ID `json:"job"`
}

const ledgerSchema = "gpusched.file.v1"

// queueAsked is what a ledger is known by besides its file: a line that is a job of one queue is none of
// another. That of this machine has no name.
func (a *app) queueAsked() string {
	if name, err := a.whichEngine(); err != nil || name != engineSlurm {
		return ""
	}
	return engineSlurm + "\x00" + a.getenv("SLURM_CONF") + "\x00"
}

// openLedger opens that of a file and a queue, by its absolute path, and locks it. It is new
// where there is none, and with again.
func (a *app) openLedger(path string, again bool) (*ledger, error) {
	dir := a.getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(a.getenv("HOME"), ".local", "state")
	}
	dir = filepath.Join(dir, "gpusched", "files")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, refuse(api.CodeInternal, "which lines have become jobs is noted there", "%v", err)
	}
	sum := sha256.Sum256([]byte(a.queueAsked() + path))
	name := filepath.Join(dir, hex.EncodeToString(sum[:])[:16]+".jsonl")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, refuse(api.CodeInternal, "which lines have become jobs is noted there", "%v", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, refuse(api.CodeConflict, "one 'gpusched watch' or 'import' at a time is for a file", "another gpusched has %q", path)
	}
	l := &ledger{file: f, jobs: map[string]job.ID{}}
	err = l.read()
	l.begun = l.head.Run != "" && !again
	l.again = l.begun
	if err == nil && (l.head.Run == "" || again) {
		l.jobs = map[string]job.ID{}
		l.head = ledgerHead{Schema: ledgerSchema, Path: path, Run: api.NewKey()}
		err = f.Truncate(0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("read what has become jobs: %w", err)
	}
	return l, nil
}

// begin puts the head on disk, before the first job is queued.
func (l *ledger) begin(top int) error {
	l.head.Top, l.begun = top, true
	if l.file == nil {
		return nil
	}
	if err := l.write(l.head); err != nil {
		return err
	}
	return l.file.Sync()
}

// read reads what is there. A line that is cut short, by a crash, is dropped.
func (l *ledger) read() error {
	in := bufio.NewReader(l.file)
	good := int64(0)
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		good += int64(len(line))
		if number == 1 {
			if err := json.Unmarshal(line, &l.head); err != nil || l.head.Schema != ledgerSchema {
				return fmt.Errorf("%s is not what gpusched wrote there; without it every line of the file is new", l.file.Name())
			}
			continue
		}
		var entry ledgerLine
		if json.Unmarshal(bytes.TrimSpace(line), &entry) == nil && entry.Key != "" {
			l.jobs[entry.Key] = entry.Job
		}
	}
	if err := l.file.Truncate(good); err != nil {
		return err
	}
	_, err := l.file.Seek(good, 0)
	return err
}

// note notes that an entry is a job.
func (l *ledger) note(key string, id job.ID) error {
	l.jobs[key] = id
	if l.file == nil {
		return nil
	}
	return l.write(ledgerLine{key, id})
}

func (l *ledger) write(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	at, err := l.file.Seek(0, 2)
	if err != nil {
		return err
	}
	if _, err := l.file.Write(append(line, '\n')); err != nil {
		return errors.Join(fmt.Errorf("note what has become a job: %w", err), l.file.Truncate(at))
	}
	return nil
}

// forget makes it one that notes nothing, and with all knows nothing.
func (l *ledger) forget(all bool) {
	l.close()
	l.file = nil
	if all {
		l.jobs = map[string]job.ID{}
	}
}

func (l *ledger) close() {
	if l.file != nil {
		l.file.Close()
	}
}

// key is the request key of the n-th entry that runs the same.
func (l *ledger) key(identity string, n int) string {
	sum := sha256.Sum256([]byte(l.head.Run + "\x00" + strconv.Itoa(n) + "\x00" + identity))
	return hex.EncodeToString(sum[:16])
}

package feed

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// A ledger records which entries of a file have become jobs. It is a private file of the user, and
// it is locked while it is open. An entry is recorded after its job is queued. If the program dies
// in between, the next run repeats the request with the same key, and the daemon queues no second
// job. Slurm has no such keys. On Slurm the next run therefore first looks up the jobs of the
// earlier run (engines.Other).
type ledger struct {
	file  *os.File // nil if nothing is recorded, as for a pipe
	head  ledgerHead
	begun bool              // the head has been written
	again bool              // the file is from an earlier run, which may have died before it recorded a job
	jobs  map[string]job.ID // the jobs by key
	last  ledgerLine        // the line with the highest job number
}

// ledgerHead is the first line of the file.
type ledgerHead struct {
	Schema string `json:"schema"`
	Path   string `json:"path"`
	Run    string `json:"run"` // a part of each key, so that the same lines become new jobs in another run
	Top    int    `json:"top"` // the rank of the first entries; they are queued with priority 0
}

// ledgerLine is any line after the first.
type ledgerLine struct {
	Key string    `json:"key"`
	Job job.ID    `json:"job"`
	At  time.Time `json:"at,omitzero"` // when the job was submitted; another queue's job can have the same number
}

const ledgerSchema = "gpusched.file.v1"

// queueAsked identifies the queue: a Slurm, or a scheduler of this machine. Each queue has a ledger
// of its own. Several machines may share the home directories, so the machine is part of the
// result.
func queueAsked(a *cli.App) string {
	if name, err := a.WhichEngine(); err == nil && name == cli.EngineSlurm {
		return cli.EngineSlurm + "\x00" + a.Getenv("SLURM_CONF") + "\x00"
	}
	machine, _ := os.ReadFile(filepath.Join(a.Root, "/etc/machine-id"))
	socket := api.SocketPath
	if c, ok := a.Client.(*api.Client); ok && c.Socket != "" {
		socket = c.Socket
	}
	return string(machine) + "\x00" + socket + "\x00"
}

// ledgerPath returns the path of the ledger for a file and a queue.
func ledgerPath(a *cli.App, path string) string {
	sum := sha256.Sum256([]byte(queueAsked(a) + path))
	return filepath.Join(jobenv.StateDir(a), "files", hex.EncodeToString(sum[:])[:16]+".jsonl")
}

// openLedger opens and locks the ledger for the file with this absolute path. If there is no
// ledger, or if renew is set, it starts a new one.
func openLedger(a *cli.App, path string, renew bool) (*ledger, error) {
	name := ledgerPath(a, path)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, cli.Refuse(api.CodeInternal, "gpusched records there which lines have become jobs", "%v", err)
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, cli.Refuse(api.CodeInternal, "gpusched records there which lines have become jobs", "%v", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, cli.Refuse(api.CodeConflict, "only one 'gpusched watch' or 'import' at a time can read a file", "another gpusched is reading %q", path)
	}
	l := &ledger{file: f, jobs: map[string]job.ID{}}
	err = l.read()
	l.begun = l.head.Run != "" && !renew
	l.again = l.begun
	l.head.Path = path
	if err == nil && (l.head.Run == "" || renew) {
		err = l.renew()
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("read the record of queued lines: %w", err)
	}
	return l, nil
}

// isRead reports whether a watch or an import is reading the file now.
func isRead(a *cli.App, path string) bool {
	f, err := os.OpenFile(ledgerPath(a, path), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
}

// renew starts the ledger afresh, so that every line is new.
func (l *ledger) renew() error {
	l.jobs, l.last = map[string]job.ID{}, ledgerLine{}
	l.head = ledgerHead{Schema: ledgerSchema, Path: l.head.Path, Run: api.NewKey()}
	l.begun, l.again = false, false
	if l.file == nil {
		return nil
	}
	return l.file.Truncate(0)
}

// check renews a ledger if its scheduler has lost its state. The state is lost if the scheduler has
// a different job with the last recorded number, or has not reached that number. The state is not
// lost if the scheduler has only deleted the job.
func (l *ledger) check(ctx context.Context, a *cli.App) error {
	if l.last.Job == 0 || a.Other() != nil {
		return nil
	}
	reply, err := api.List(ctx, a.Client, api.ListQuery{IDs: l.last.Job.String()})
	if err != nil {
		return err
	}
	if len(reply.Jobs) > 0 {
		if at := reply.Jobs[0].SubmittedAt; at.Truncate(time.Second).Equal(l.last.At.Truncate(time.Second)) {
			return nil
		}
	} else if s, err := api.Status(ctx, a.Client); err != nil || s.Totals == nil || s.Totals.Submitted >= int(l.last.Job) {
		return err
	}
	a.Note("%s: the scheduler has lost its state since these lines became jobs (up to job %s), so all of them are new",
		filepath.Base(l.head.Path), l.last.Job)
	return l.renew()
}

// writeHead writes the head to disk. This happens before the first job is queued.
func (l *ledger) writeHead(top int) error {
	l.head.Top, l.begun = top, true
	if l.file == nil {
		return nil
	}
	if err := l.write(l.head); err != nil {
		return err
	}
	return l.file.Sync()
}

// read reads the ledger. It drops the last line if a crash cut it short.
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
				return fmt.Errorf("%s is damaged; if you delete it, every line of the file is new", l.file.Name())
			}
			continue
		}
		var entry ledgerLine
		if json.Unmarshal(bytes.TrimSpace(line), &entry) == nil && entry.Key != "" {
			l.put(entry)
		}
	}
	if err := l.file.Truncate(good); err != nil {
		return err
	}
	_, err := l.file.Seek(good, 0)
	return err
}

func (l *ledger) put(entry ledgerLine) {
	l.jobs[entry.Key] = entry.Job
	if entry.Job >= l.last.Job && !entry.At.IsZero() {
		l.last = entry
	}
}

// recordJob records that an entry has become a job.
func (l *ledger) recordJob(key string, id job.ID, at time.Time) error {
	entry := ledgerLine{key, id, at}
	l.put(entry)
	if l.file == nil {
		return nil
	}
	return l.write(entry)
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
		return errors.Join(fmt.Errorf("record a queued line: %w", err), l.file.Truncate(at))
	}
	return nil
}

// stopRecording makes the ledger record nothing more. If clearAll is set, it also removes the
// ledger's entries from memory.
func (l *ledger) stopRecording(clearAll bool) {
	l.close()
	l.file = nil
	if clearAll {
		_ = l.renew()
	}
}

func (l *ledger) close() {
	if l.file != nil {
		l.file.Close()
	}
}

// key returns the request key for the n-th entry that has this identity.
func (l *ledger) key(identity string, n int) string {
	sum := sha256.Sum256([]byte(l.head.Run + "\x00" + strconv.Itoa(n) + "\x00" + identity))
	return hex.EncodeToString(sum[:16])
}

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

// A ledger records which entries of a file have become jobs. It is a private file of the user, locked
// while it is open. An entry is noted after its job is queued; a program that dies in between repeats
// the request with the same key, for which the daemon queues nothing twice. Slurm has no such keys, so
// there the jobs of an earlier run are looked up first (engines.Other).
type ledger struct {
	file  *os.File // nil: nothing is written, as for a pipe
	head  ledgerHead
	begun bool              // the head is written
	again bool              // from an earlier run, which may have died with a job not noted
	jobs  map[string]job.ID // by key
	last  ledgerLine        // the line of the job with the highest number
}

// ledgerHead is the first line of the file.
type ledgerHead struct {
	Schema string `json:"schema"`
	Path   string `json:"path"`
	Run    string `json:"run"` // part of each key: another run of the same lines makes other jobs
	Top    int    `json:"top"` // the rank that goes first, which is queued as 0
}

// ledgerLine is each further line.
type ledgerLine struct {
	Key string    `json:"key"`
	Job job.ID    `json:"job"`
	At  time.Time `json:"at,omitzero"` // the job's submission, which tells it from another queue's job of this number
}

const ledgerSchema = "gpusched.file.v1"

// queueAsked identifies the queue, since each has a ledger of its own: a Slurm, or a scheduler of
// this machine, whose home directories other machines may share.
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

// ledgerPath returns the path of the ledger of a file and a queue.
func ledgerPath(a *cli.App, path string) string {
	sum := sha256.Sum256([]byte(queueAsked(a) + path))
	return filepath.Join(jobenv.StateDir(a), "files", hex.EncodeToString(sum[:])[:16]+".jsonl")
}

// openLedger opens and locks the ledger of a file with this absolute path. It starts a new one if
// there is none, and with again.
func openLedger(a *cli.App, path string, again bool) (*ledger, error) {
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
	l.begun = l.head.Run != "" && !again
	l.again = l.begun
	l.head.Path = path
	if err == nil && (l.head.Run == "" || again) {
		err = l.renew()
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("read the record of queued lines: %w", err)
	}
	return l, nil
}

// isRead reports whether a watch or an import has the file open now.
func isRead(a *cli.App, path string) bool {
	f, err := os.OpenFile(ledgerPath(a, path), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
}

// renew makes every line new.
func (l *ledger) renew() error {
	l.jobs, l.last = map[string]job.ID{}, ledgerLine{}
	l.head = ledgerHead{Schema: ledgerSchema, Path: l.head.Path, Run: api.NewKey()}
	l.begun, l.again = false, false
	if l.file == nil {
		return nil
	}
	return l.file.Truncate(0)
}

// check renews a ledger whose scheduler has lost its state: it has another job under the last
// number noted, or has not reached that number. A job that the scheduler has forgotten since still
// counts.
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

// begin writes the head to disk before the first job is queued.
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

// read reads the file and drops a last line that a crash cut short.
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

// note records that an entry is a job.
func (l *ledger) note(key string, id job.ID, at time.Time) error {
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

// forget makes the ledger write nothing more, and with all also forget its entries.
func (l *ledger) forget(all bool) {
	l.close()
	l.file = nil
	if all {
		_ = l.renew()
	}
}

func (l *ledger) close() {
	if l.file != nil {
		l.file.Close()
	}
}

// key returns the request key of the n-th entry with the same identity.
func (l *ledger) key(identity string, n int) string {
	sum := sha256.Sum256([]byte(l.head.Run + "\x00" + strconv.Itoa(n) + "\x00" + identity))
	return hex.EncodeToString(sum[:16])
}

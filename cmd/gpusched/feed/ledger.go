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
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// ledger has which entries of a file of jobs have become jobs. It is a file of the
// user's, locked while it is open. An entry is noted after its job is queued; who dies
// in between asks again with the same request key, on which the daemon queues nothing
// twice. Slurm has no such keys: there it is looked first for what has one (engines.Other).
type ledger struct {
	file  *os.File // nil: nothing is noted, as for a pipe
	head  ledgerHead
	begun bool              // the head is written
	again bool              // it was written before: what died in between may be a job
	jobs  map[string]job.ID // by key
	last  ledgerLine        // that of the job with the highest number
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
	Key string    `json:"key"`
	Job job.ID    `json:"job"`
	At  time.Time `json:"at,omitzero"` // when the job was submitted, which tells it from another queue's of this number
}

const ledgerSchema = "gpusched.file.v1"

// queueAsked is what a ledger is known by besides its file: a line that is a job of one queue is none of
// another. The queue is a Slurm's, or that of a scheduler of this machine, as the home can be shared with others.
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

// ledgerPath is where the ledger of a file and a queue is.
func ledgerPath(a *cli.App, path string) string {
	dir := a.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(a.Getenv("HOME"), ".local", "state")
	}
	sum := sha256.Sum256([]byte(queueAsked(a) + path))
	return filepath.Join(dir, "gpusched", "files", hex.EncodeToString(sum[:])[:16]+".jsonl")
}

// openLedger opens that of a file and a queue, by its absolute path, and locks it. It is new
// where there is none, and with again.
func openLedger(a *cli.App, path string, again bool) (*ledger, error) {
	name := ledgerPath(a, path)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, cli.Refuse(api.CodeInternal, "which lines have become jobs is noted there", "%v", err)
	}
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, cli.Refuse(api.CodeInternal, "which lines have become jobs is noted there", "%v", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, cli.Refuse(api.CodeConflict, "one 'gpusched watch' or 'import' at a time is for a file", "another gpusched has %q", path)
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
		return nil, fmt.Errorf("read what has become jobs: %w", err)
	}
	return l, nil
}

// isRead reports whether a watch or an import has a file of jobs open now.
func isRead(a *cli.App, path string) bool {
	f, err := os.OpenFile(ledgerPath(a, path), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) != nil
}

// renew makes every line a new one.
func (l *ledger) renew() error {
	l.jobs, l.last = map[string]job.ID{}, ledgerLine{}
	l.head = ledgerHead{Schema: ledgerSchema, Path: l.head.Path, Run: api.NewKey()}
	l.begun, l.again = false, false
	if l.file == nil {
		return nil
	}
	return l.file.Truncate(0)
}

// check renews a ledger whose jobs the scheduler does not have, since its state was made anew: it has another
// job under the last number that is noted, or has not come to that number yet. One that it had and has forgotten
// since counts.
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
	a.Note("%s: its lines were jobs up to %s of a scheduler that has begun anew since, so all of them are new",
		filepath.Base(l.head.Path), l.last.Job)
	return l.renew()
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

// note notes that an entry is a job.
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
		return errors.Join(fmt.Errorf("note what has become a job: %w", err), l.file.Truncate(at))
	}
	return nil
}

// forget makes it one that notes nothing, and with all knows nothing.
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

// key is the request key of the n-th entry that runs the same.
func (l *ledger) key(identity string, n int) string {
	sum := sha256.Sum256([]byte(l.head.Run + "\x00" + strconv.Itoa(n) + "\x00" + identity))
	return hex.EncodeToString(sum[:16])
}

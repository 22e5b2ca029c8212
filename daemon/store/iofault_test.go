package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// everyCall makes the tests try every call of SQLite: each call fails once, and the daemon dies
// once at each call. Without it, the tests try only some calls.
var everyCall = flag.Bool("every-call", false, "let every call fail in every way, not only some")

// Without everyCall, the tests try one of every oneIn calls.
const oneIn = 37 * slower

// play runs the stages of a state file's life on a disk that fails.
type play struct {
	disk  *faultyDisk
	path  string
	known []string // schemas of the release that opens the file
	s     *Store
	cut   int // number of power cuts so far
}

// stage is one action of the daemon, which it repeats after an error.
type stage struct {
	name string
	do   func(p *play) error
}

func (p *play) open() (err error) {
	p.s, err = Open(context.Background(), p.path, Options{FileSystem: p.disk.Name(), Judge: p.judge, known: p.known})
	return err
}

// judge makes the store's own calls fail in the same ways as SQLite's.
func (p *play) judge(op, path string) error {
	return errnos[p.disk.Ask(diskCall{Op: diskOp(op), Path: path})]
}

var errnos = map[diskFault]error{faultIO: syscall.EIO, faultFull: syscall.ENOSPC, faultShort: syscall.EIO, faultRefused: syscall.EROFS}

func (p *play) shut() error {
	s := p.s
	if s == nil {
		return nil
	}
	p.s = nil
	return s.Close()
}

func committing(name string, records ...job.Record) stage {
	return stage{name, func(p *play) error { return p.s.Commit(context.Background(), records) }}
}

// foldingStage returns a stage whose commit makes a checkpoint.
func foldingStage(name string, records ...job.Record) stage {
	return stage{name, func(p *play) error {
		p.s.dirty = checkpointPages
		return p.s.Commit(context.Background(), records)
	}}
}

var opening, closing = stage{"open", (*play).open}, stage{"close", func(p *play) error {
	_ = p.shut() // changes that the checkpoint could not move are still in the log
	return nil
}}

// lifeStages returns the stages of a short life of a state file, with each kind of record.
func lifeStages() []stage {
	big := payload()
	big.Env = append(big.Env, "BIG="+strings.Repeat("x", 20_000))
	keyed, moved := queuedJob(2), runningJob(2)
	keyed.Key = "k"
	moved.Request.TimeLimit = job.Span(2 * time.Hour)
	rest := array(3, 0)
	rest.Tasks.Next = 1
	far := time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
	return []stage{
		opening,
		committing("submit", job.Record{Job: queuedJob(1), Payload: big}, job.Record{Job: keyed, Payload: payload()}),
		committing("an array", job.Record{Job: array(3, 1), Payload: payload()}, job.Record{Job: taskOf(runningJob(4), 3, 0)}),
		committing("controls", job.Record{GPU: &job.GPUControl{UUID: "GPU-0", Paused: true}}, job.Record{Usage: &job.Usage{Account: "alice", Micro: 3, At: epoch}},
			job.Record{Reservation: &job.Reservation{ID: 1, From: epoch, To: far}}, job.Record{Prediction: &job.Prediction{Key: "k", At: epoch}}),
		foldingStage("an end", job.Record{Job: endedJob(1, job.Failed)}, job.Record{Job: runningJob(2)}),
		committing("after the fold", job.Record{Job: moved}, job.Record{Left: &job.Leftover{Job: 1, Attempt: 1, What: job.Text("20G")}}, job.Record{Unreserve: 1}),
		{"forget", func(p *play) error {
			_, err := p.s.Forget(context.Background(), History{Age: time.Hour}, epoch.Add(24*time.Hour))
			return err
		}},
		closing, opening,
		committing("after the start", job.Record{Job: taskOf(endedJob(4, job.Completed), 3, 0)}, job.Record{Job: rest}, job.Record{Job: queuedJob(5), Payload: payload()}),
		foldingStage("a last one", job.Record{Job: runningJob(5)}),
	}
}

// contents is everything that can be read from a store.
type contents struct {
	next counters
	text string
}

func dump(s *Store) (h contents, err error) {
	ctx := context.Background()
	st, err := s.Load(ctx)
	if err != nil {
		return h, err
	}
	h.next = counters{st.NextID, st.NextReservation, 0}
	st.NextID, st.NextReservation = 0, 0
	all := []any{st}
	for id := job.ID(1); id < min(h.next.job, 10); id++ {
		j, err := s.Job(ctx, id)
		if errors.Is(err, errNotFound) {
			continue
		}
		attempts, err2 := s.Attempts(ctx, id)
		p, err3 := s.Payload(ctx, id)
		if errors.Is(err3, sql.ErrNoRows) {
			err3 = nil // a task has its array's payload
		}
		if err := errors.Join(err, err2, err3); err != nil {
			return h, err
		}
		all = append(all, j, attempts, p)
	}
	text, err := json.Marshal(all)
	h.text = string(text)
	return h, err
}

// matches compares the contents with the contents after a death, and reports whether they are
// equal. The ids after the death may be higher, because ids may have been reserved without being
// used.
func (h contents) matches(after contents) bool {
	return after.text == h.text && after.next.job >= h.next.job && after.next.reservation >= h.next.reservation
}

// An ending is a death of the process or the machine. The function nameOnDisk reports whether an
// unsynced change of a name is on disk after it, and sectorOnDisk does this for an unsynced sector.
type ending struct {
	name         string
	nameOnDisk   func(change int) bool
	sectorOnDisk func(sector int64) bool
}

// writeEnd fills an empty directory with the state file and the files beside it, as an ending
// leaves them.
func (p *play) writeEnd(t *testing.T, e ending) string {
	t.Helper()
	to := t.TempDir()
	if err := p.disk.Cut(to, e.nameOnDisk, e.sectorOnDisk); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(to, filepath.Base(p.path))
}

// namesAlone is a power cut after which all changes of names are on disk, and no unsynced sector is.
var namesAlone = ending{"the power goes, with only names written", func(int) bool { return true }, func(int64) bool { return false }}

// endings returns a death of the process and a death of the machine. After the death of the
// process, all unsynced changes are on disk. After the death of the machine, half of the names are
// on disk, or none, or all, and independently half of the sectors, or none.
func endings(r *rand.Rand) []ending {
	cut := func(name string, names, sectors int) ending {
		return ending{name, func(int) bool { return r.IntN(100) < names }, func(int64) bool { return r.IntN(100) < sectors }}
	}
	names, sectors := 50*r.IntN(3), 50*r.IntN(2)
	power := fmt.Sprintf("the power goes, with %d %% of names and %d %% of sectors written", names, sectors)
	return []ending{cut("the process dies", 100, 100), cut(power, names, sectors)}
}

// requireWhole opens the files after a death. Their content must be one of the states. requireWhole
// returns this state.
func (p *play) requireWhole(t *testing.T, path, what string, states ...contents) contents {
	t.Helper()
	s, err := Open(context.Background(), path, Options{known: p.known})
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	defer s.Close()
	if err := s.Check(context.Background()); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	got, err := dump(s)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if !slices.ContainsFunc(states, func(h contents) bool { return h.matches(got) }) {
		t.Fatalf("%s: found\n%+v\nnot one of\n%+v", what, got, states)
	}
	return got
}

// dieEverywhere checks all endings at the present moment.
func (p *play) dieEverywhere(t *testing.T, what string, r *rand.Rand, states ...contents) {
	t.Helper()
	for _, e := range endings(r) {
		p.requireWhole(t, p.writeEnd(t, e), what+": "+e.name, states...)
	}
}

// newPlay returns a play with the lifetime's state file, or without a file.
func newPlay(t *testing.T, disk *faultyDisk, l lifetime) *play {
	t.Helper()
	p := &play{disk: disk, path: filepath.Join(t.TempDir(), "state.db"), known: l.schemas}
	if l.file != "" {
		data, err := os.ReadFile(l.file)
		if err = errors.Join(err, os.WriteFile(p.path, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = p.shut() })
	if err := disk.Watch(filepath.Dir(p.path), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	return p
}

// reference runs the stages without a fault. It returns the state after each stage, and every call
// with its stage.
func reference(t *testing.T, disk *faultyDisk, l lifetime) (states []contents, calls []stageCall) {
	t.Helper()
	p := newPlay(t, disk, l)
	at := 0
	disk.Judge(func(c diskCall) diskFault {
		calls = append(calls, stageCall{c, at})
		return noFault
	})
	var state contents
	for i, st := range l.stages {
		at = i
		if err := st.do(p); err != nil {
			t.Fatalf("%s: %v", st.name, err)
		}
		if p.s != nil {
			var err error
			if state, err = dump(p.s); err != nil {
				t.Fatal(err)
			}
			mustCheck(t, p.s)
		}
		states = append(states, state)
	}
	disk.Judge(nil)
	if err := p.shut(); err != nil {
		t.Fatal(err)
	}
	return states, calls
}

// A stageCall is a call and the number of its stage.
type stageCall struct {
	diskCall
	stage int
}

// sample returns every nth element of a list. With everyCall it returns all.
func sample[T any](list []T, n int) (out []T) {
	for i, v := range list {
		if i%n == 0 || *everyCall {
			out = append(out, v)
		}
	}
	return out
}

// A trial is one fault at one call.
type trial struct {
	call  int
	fault diskFault
	ever  bool // later calls fail as well, see hits
}

func (tr trial) String() string {
	s := []string{"no fault", "EIO", "ENOSPC", "a short write"}[tr.fault]
	if tr.ever {
		s += " for ever"
	}
	return s
}

// allTrials returns every fault that each of the calls can have.
func allTrials(calls []stageCall) (list []trial) {
	for n, c := range calls {
		faults := []diskFault{faultIO}
		switch c.Op {
		case opWrite:
			faults = append(faults, faultFull, faultShort)
		case opTruncate, opOpen, opShm, "open file", "write file", "rename":
			faults = append(faults, faultFull)
		}
		for _, f := range faults {
			list = append(list, trial{n, f, false}, trial{n, f, true})
		}
	}
	return list
}

// hits reports whether the call c fails too, after a fault that lasts made an earlier call fail.
// Calls of the same kind as the earlier call fail. On a full disk, all calls that need space fail
// as well.
func (tr trial) hits(c, failed diskCall) bool {
	needsSpace := c.Op == opWrite || c.Op == opTruncate || c.Op == "write file"
	return c.Op == failed.Op || tr.fault == faultFull && needsSpace
}

// run runs the stages with a fault. It repeats a stage after an error, until the cause is gone.
func (tr trial) run(t *testing.T, p *play, stages []stage, states []contents) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(tr.call), uint64(tr.fault)))
	n, hit := -1, diskCall{}
	p.disk.Judge(func(c diskCall) diskFault {
		n++
		switch {
		case n == tr.call:
			hit = c
			return tr.fault
		case n > tr.call && tr.ever && tr.hits(c, hit):
			return tr.fault
		}
		return noFault
	})
	before := states[0]
	died := false
	for i, st := range stages {
		what := func() string { return fmt.Sprintf("%s, with %v of call %d (%v)", st.name, tr, tr.call, hit) }
		for try := 0; ; try++ {
			err := st.do(p)
			if err == nil {
				break
			}
			// If SQLite cannot read the size of the copy, it treats the copy as an existing
			// database.
			copied := hit.Op == opSize && strings.HasSuffix(hit.Path, ".new")
			if n < tr.call || !Retryable(err) && !copied || errors.Is(err, job.ErrDamaged) {
				t.Fatalf("%s: %v", what(), err)
			}
			if try == 2 || !tr.ever && try == 1 {
				t.Fatalf("%s does not work again: %v", what(), err)
			}
			if try == 1 {
				p.dieEverywhere(t, what(), r, before, states[i])
				p.disk.Judge(nil)
			}
		}
		if p.s != nil {
			if got, err := dump(p.s); err == nil && got != states[i] {
				t.Fatalf("%s: reads\n%+v\nnot\n%+v", what(), got, states[i])
			} else if errors.Is(err, job.ErrDamaged) {
				t.Fatalf("%s: reading: %v", what(), err)
			}
		}
		if n >= tr.call && !died {
			died = true
			p.dieEverywhere(t, what(), r, states[i])
		}
		before = states[i]
	}
	p.disk.Judge(nil)
	if err := p.shut(); err != nil {
		t.Fatal(err)
	}
	p.requireWhole(t, p.path, "at the end", states[len(states)-1])
}

// A lifetime says how the life of a state file begins. The field file is the file, or "" if there
// is no file at the beginning. The field schemas has the schemas of the release that opens the
// file; nil means the schemas of this release.
type lifetime struct {
	file    string
	schemas []string
	stages  []stage
}

// lifetimes returns the lifetimes. One begins without a file. The others begin with a file that an
// older release left.
func lifetimes(t *testing.T) map[string]lifetime {
	return map[string]lifetime{
		"new": {"", nil, lifeStages()},
		"old": {oldFile(t), withNext(), []stage{opening, committing("after the change", job.Record{Job: queuedJob(5), Payload: payload()})}},
	}
}

func newDisk(t *testing.T, name string) *faultyDisk {
	t.Helper()
	disk, err := newFaultyDisk(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := disk.Close(); err != nil {
			t.Error(err)
		}
	})
	return disk
}

// Any call of SQLite may fail, once or for ever. Even so, everything acknowledged is stored,
// nothing is stored in part, no error counts as damage, and the store works again when the cause is
// gone (invariants 1 and 2).
func TestEveryCallFails(t *testing.T) {
	for name, l := range lifetimes(t) {
		t.Run(name, func(t *testing.T) {
			disk := newDisk(t, "fails-"+name)
			states, calls := reference(t, disk, l)
			all := allTrials(calls)
			list := sample(all, oneIn)
			for _, tr := range list {
				t.Run(fmt.Sprint(tr.call, tr), func(t *testing.T) { tr.run(t, newPlay(t, disk, l), l.stages, states) })
			}
			t.Logf("%d of %d faults at %d calls", len(list), len(all), len(calls))
		})
	}
}

// The process may die, or the power fail, between any two calls of SQLite. Even so, everything
// acknowledged is stored, and an unfinished commit is stored whole or not at all (invariant 1).
func TestDeathAtEveryCall(t *testing.T) {
	for name, l := range lifetimes(t) {
		t.Run(name, func(t *testing.T) {
			disk := newDisk(t, "dies-"+name)
			states, _ := reference(t, disk, l)
			p := newPlay(t, disk, l)
			r := rand.New(rand.NewPCG(1, 1))
			n, at, died := 0, 0, 0
			disk.Judge(func(c diskCall) diskFault {
				if n++; n%(19*slower) == 0 || *everyCall {
					p.dieEverywhere(t, fmt.Sprintf("%s, before call %d (%v)", l.stages[at].name, n, c), r, states[max(at-1, 0)], states[at])
					died++
				}
				return noFault
			})
			for i, st := range l.stages {
				at = i
				if err := st.do(p); err != nil {
					t.Fatalf("%s: %v", st.name, err)
				}
			}
			disk.Judge(nil)
			t.Logf("died %d times in %d calls", died, n)
		})
	}
}

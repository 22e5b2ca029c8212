package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// onReadOnlyDisk returns what a call does on a disk that the kernel has made read-only: ext4 still
// accepts writes to open files, and reports syncs as done although they were not. It refuses to make
// files shorter too, but the store must not rely on this for SQLite's files.
func onReadOnlyDisk(c diskCall) diskFault {
	switch c.Op {
	case opSync, opSyncFile, opSyncNames, opSyncDisk:
		return faultUnsynced
	case opDelete, "statfs", "resize file", "rename", "remove":
		return faultRefused
	}
	return noFault
}

// runReadOnly runs the stages. Before the call with the given number the disk becomes read-only, and
// after that stage it is writable again. The power may fail at once, or after the next stage. It
// returns all calls; the number -1 means that the disk stays writable.
func (p *play) runReadOnly(t *testing.T, stages []stage, from int, states []contents) (calls []stageCall) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(from), 0))
	at, readOnly, hit := 0, false, -1
	p.disk.Judge(func(c diskCall) diskFault {
		if len(calls) == from {
			readOnly, hit = true, at
		}
		calls = append(calls, stageCall{c, at})
		if readOnly {
			return onReadOnlyDisk(c)
		}
		return noFault
	})
	for at = range stages {
		st := stages[at]
		err := st.do(p)
		if readOnly {
			if readOnly = false; err != nil {
				err = st.do(p)
			}
		}
		if err != nil {
			t.Fatalf("%s, read-only from call %d: %v", st.name, from, err)
		}
		acked := at > hit || st.name != "forget" && st.name != closing.name // what is forgotten may come back
		if hit >= 0 && acked {
			what := fmt.Sprintf("%s, read-only from call %d (%v)", st.name, from, calls[from])
			p.dieEverywhere(t, what, r, states[at])
			p.requireWhole(t, p.writeEnd(t, namesAlone), what+": "+namesAlone.name, states[at])
		}
		if hit >= 0 && at > hit {
			break
		}
	}
	p.disk.Judge(nil)
	if from >= 0 && hit < 0 {
		t.Errorf("there is no call %d", from)
	}
	return calls
}

// The disk may become read-only before any call, and writable again later. If the power then fails,
// everything acknowledged is stored (invariant 1).
func TestReadOnlyAtEveryCall(t *testing.T) {
	l := lifetime{stages: append(lifeStages(), closing)}
	disk := newDisk(t, "read-only")
	states, _ := reference(t, disk, l)
	for n, c := range newPlay(t, disk, l).runReadOnly(t, l.stages, -1, states) {
		switch {
		case l.stages[c.stage].name == opening.name: // it makes files, which such a disk refuses
		case *everyCall, c.Op == opSync, c.Op == opWrite && n%(3*slower) == 0:
			newPlay(t, disk, l).runReadOnly(t, l.stages, n, states)
		}
	}
}

// afterLostCheckpoint returns a play whose last checkpoint was made on a read-only disk, so that
// nothing of it is on disk although SQLite believes it. The disk is writable again.
func afterLostCheckpoint(t *testing.T, name string) (p *play, want contents) {
	t.Helper()
	p = newPlay(t, newDisk(t, name), lifetime{})
	if err := p.open(); err != nil {
		t.Fatal(err)
	}
	commit(t, p.s, job.Record{Job: queuedJob(1), Payload: payload()})
	want, err := dump(p.s)
	if err != nil {
		t.Fatal(err)
	}
	commit(t, p.s, job.Record{Reservation: &job.Reservation{ID: 1, From: epoch, To: epoch.Add(time.Hour)}}) // Open removes it
	p.disk.Judge(onReadOnlyDisk)
	if err := p.s.checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.s.Commit(t.Context(), []job.Record{{Job: queuedJob(2), Payload: payload()}}); !errors.Is(err, syscall.EROFS) {
		t.Fatal(err)
	}
	p.disk.Judge(nil)
	return p, want
}

// If the sync of a disk that was read-only fails, a later sync would succeed without the lost data.
// The store then takes no more commits, and keeps its log. Once it is opened again, everything
// acknowledged is stored (invariant 1).
func TestFailedSyncOfADiskThatWasReadOnly(t *testing.T) {
	p, want := afterLostCheckpoint(t, "lost-sync")
	fails := func(c diskCall) diskFault {
		if c.Op == opSyncDisk {
			return faultIO
		}
		return noFault
	}
	for _, judge := range []diskJudge{fails, nil} {
		p.disk.Judge(judge)
		if err := p.s.Commit(t.Context(), []job.Record{{Job: queuedJob(2), Payload: payload()}}); !errors.Is(err, syscall.EIO) {
			t.Fatal(err)
		}
	}
	if err := p.shut(); err != nil {
		t.Fatal(err)
	}
	p.requireWhole(t, p.writeEnd(t, namesAlone), "closed", want)
	err := errors.Join(p.open(), foldingStage("start", job.Record{Job: runningJob(1)}).do(p))
	want, err2 := dump(p.s)
	if err := errors.Join(err, err2, p.shut()); err != nil {
		t.Fatal(err)
	}
	p.requireWhole(t, p.writeEnd(t, namesAlone), "opened and closed again", want)
}

// The daemon dies after a checkpoint on a read-only disk, and another process keeps the index of the
// log. Open then syncs the disk before it writes to the log.
func TestOpenSyncsADiskThatWasReadOnly(t *testing.T) {
	p, want := afterLostCheckpoint(t, "dead-daemon")
	other, err := Open(t.Context(), p.path, Options{ReadOnly: true, FileSystem: p.disk.Name()})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.s.release(); err != nil { // the daemon dies: it does not sync
		t.Fatal(err)
	}
	if err := p.open(); err != nil {
		t.Fatal(err)
	}
	p.requireWhole(t, p.writeEnd(t, namesAlone), "opened", want)
	if err := errors.Join(p.shut(), other.Close()); err != nil {
		t.Fatal(err)
	}
}

// A store that is closed after its disk was read-only syncs the disk before SQLite deletes the log.
func TestCloseSyncsADiskThatWasReadOnly(t *testing.T) {
	t.Parallel()
	readOnly, synced := false, 0
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "state.db"), Options{Judge: func(op, _ string) error {
		if op == "sync disk" {
			synced++
		}
		if op == "statfs" && readOnly {
			return syscall.EROFS
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, job.Record{Job: queuedJob(1), Payload: payload()})
	readOnly = true
	if err := s.Commit(t.Context(), []job.Record{{Job: queuedJob(2), Payload: payload()}}); !errors.Is(err, syscall.EROFS) {
		t.Fatal(err)
	}
	readOnly = false
	if err := s.Close(); err != nil || synced != 1 {
		t.Errorf("%v, synced %d times", err, synced)
	}
}

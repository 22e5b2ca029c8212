package supervise

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/launch"
)

// stubSystemd is a systemd. For some jobs, the user has stopped the processes that print notes.
type stubSystemd struct {
	mu    sync.Mutex
	jobs  map[string]bool
	state map[string]string
	told  int
}

func (s *stubSystemd) Status(_ context.Context, name string) (units.Status, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return units.Status{Name: name, Active: s.state[name]}, nil
}

func (s *stubSystemd) Reload(ctx context.Context, name string) error {
	s.mu.Lock()
	hangs := s.jobs[name]
	if hangs {
		s.state[name] = units.ActiveReloading
	} else {
		s.told++
	}
	s.mu.Unlock()
	if !hangs {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

// A stopped process blocks the notes to its own job, and to no other job (invariant 5).
func TestStoppedNote(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := &stubSystemd{jobs: map[string]bool{units.Name(1): true}, state: map[string]string{}}
		w := newNoteWriter(dir, s, units.Scope{})
		me := os.Getuid()
		begin := time.Now()
		go func() { _ = w.Tell(t.Context(), 1, me, "first") }()
		synctest.Wait()
		for id := job.ID(2); id < 10; id++ {
			if err := w.Tell(t.Context(), id, me, "hello"); err != nil {
				t.Error(err)
			}
		}
		if s.told != 8 || time.Since(begin) != 0 {
			t.Errorf("%d of 8 notes to other jobs after %v", s.told, time.Since(begin))
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.Tell(short, 1, me, "second"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("behind the first note: %v", err)
		}
		time.Sleep(noteTime)
		again := time.Now()
		if err := w.Tell(t.Context(), 1, me, "third"); err == nil || time.Since(again) != 0 {
			t.Errorf("after the first note: %v after %v", err, time.Since(again))
		}
		if w.jobs.Keys()+w.users.Keys() != 0 {
			t.Errorf("slots of %d jobs and %d users are left", w.jobs.Keys(), w.users.Keys())
		}
	})
}

// Open requests its process as Tell does, but instead of a note it passes a text that can't be a
// note.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	s := &inUnits{dir: dir}
	w := newNoteWriter(dir, s, units.Scope{})
	if err := errors.Join(w.Open(t.Context(), 1, os.Getuid()), w.Tell(t.Context(), 1, os.Getuid(), "hello")); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.doors, []bool{true, false}) {
		t.Errorf("%v", s.doors)
	}
	if _, left := launch.WantsDoor(dir + "/1.1"); left {
		t.Error("it is asked for again")
	}
}

// inUnits is a systemd. At each reload it records whether the note next to the job's spec asks for
// a door.
type inUnits struct {
	dir   string
	doors []bool
}

func (a *inUnits) Status(_ context.Context, name string) (units.Status, error) {
	return units.Status{Name: name}, nil
}

func (a *inUnits) Reload(context.Context, string) error {
	id, door := launch.WantsDoor(a.dir + "/1.1")
	a.doors = append(a.doors, door && id == "1")
	return nil
}

// Other users get their notes, however many note processes one user stops.
func TestStoppedNotes(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := &stubSystemd{jobs: map[string]bool{}, state: map[string]string{}}
		w := newNoteWriter(dir, s, units.Scope{})
		me := os.Getuid()
		for id := job.ID(1); id <= 2*notesAtOnce; id++ {
			s.jobs[units.Name(int64(id))] = true
		}
		for id := job.ID(1); id <= 2*notesAtOnce; id++ {
			go func() { _ = w.Tell(t.Context(), id, me, "hello") }()
		}
		synctest.Wait()
		begin := time.Now()
		_ = w.Tell(t.Context(), 100, me+1, "hello") // fails in this test: only root may write notes for others
		if took := time.Since(begin); took != 0 {
			t.Errorf("another user's note waited %v", took)
		}
		time.Sleep(3 * noteTime) // by then the stopped notes have timed out
	})
}

// endedUnit is a systemd with one unit. The job of that unit has ended, and only the result is
// left.
type endedUnit struct{ reloads int }

func (o *endedUnit) Status(_ context.Context, name string) (units.Status, error) {
	return units.Status{Name: name, Active: units.ActiveActive, Sub: units.SubExited, Spent: true}, nil
}

func (o *endedUnit) Reload(context.Context, string) error { o.reloads++; return nil }

// No process is started in a unit whose job has ended: another job may have the job's GPUs by then.
func TestNothingComesIntoASpentUnit(t *testing.T) {
	u := &endedUnit{}
	w := newNoteWriter(t.TempDir(), u, units.Scope{})
	for what, bring := range map[string]func() error{
		"a note": func() error { return w.Tell(t.Context(), 1, os.Getuid(), "text") },
		"a door": func() error { return w.Open(t.Context(), 1, os.Getuid()) },
	} {
		if err := bring(); err == nil || u.reloads != 0 {
			t.Errorf("%s: %v, reloaded %d times", what, err, u.reloads)
		}
	}
}

package store

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// eachCut calls fn once for every distinct state of the files that a power cut could leave now. In
// each state, some of the unsynced changes of names are on disk, or none, or all; either all
// unsynced writes are on disk, or none of them. eachCut returns the number of states.
func (p *play) eachCut(t *testing.T, fn func(how, path string)) int {
	t.Helper()
	late, seen := p.disk.Late(), map[string]bool{}
	for set := range 1 << late {
		for _, written := range []bool{false, true} {
			how := fmt.Sprintf("the power goes with changes %0*b of names, written %t", late, set, written)
			path := p.writeEnd(t, ending{how, func(i int) bool { return set>>i&1 == 1 }, func(int64) bool { return written }})
			left := fmt.Sprintf("%q", filesBeside(t, path))
			if seen[left] {
				continue
			}
			seen[left] = true
			if p.cut++; p.cut%slower == 0 {
				fn(how, path)
			}
		}
	}
	return len(seen)
}

// filesBeside returns the contents of the files in the directory of path, by name. It leaves out
// the lock.
func filesBeside(t *testing.T, path string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(path), e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if e.Name() != filepath.Base(path)+".lock" {
			files[e.Name()] = string(data)
		}
	}
	return files
}

// atNames calls fn before some calls of the disk while changes of names are unsynced: before each
// sync, and before the first call after each change.
func (p *play) atNames(fn func(c diskCall)) {
	before := 0
	p.disk.Judge(func(c diskCall) diskFault {
		late := p.disk.Late()
		if late > 0 && (late != before || c.Op == opSyncNames || c.Op == opSync) {
			fn(c)
		}
		before = late
		return noFault
	})
}

// A power cut may undo any unsynced changes of file names. Even so, everything acknowledged is
// stored, and an unfinished commit is stored whole or not at all (invariant 1). The ids continue
// above all that were given out (invariant 3).
func TestLostNames(t *testing.T) {
	t.Parallel()
	for name, l := range lifetimes(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			far := stage{"the next ids", func(p *play) error {
				return p.s.Commit(context.Background(), []job.Record{{Job: queuedJob(1700), Payload: payload()}})
			}}
			l.stages = append(slices.Clone(l.stages), far, closing, opening)
			disk := newDisk(t, "names-"+name)
			states, _ := reference(t, disk, l)
			p := newPlay(t, disk, l)
			at, cuts := 0, 0
			p.atNames(func(c diskCall) {
				cuts += p.eachCut(t, func(how, path string) {
					what := fmt.Sprintf("%s, before %v: %s", l.stages[at].name, c, how)
					found := p.requireWhole(t, path, what, states[max(at-1, 0)], states[at])
					if bound := idsBeside(t, path); found.next.job > max(states[0].next.job, bound) {
						t.Fatalf("%s: without the state file ids below %d would be given out again, from %d", what, found.next.job, bound)
					}
				})
			})
			for i, st := range l.stages {
				at = i
				if err := st.do(p); err != nil {
					t.Fatalf("%s: %v", st.name, err)
				}
			}
			disk.Judge(nil)
			t.Logf("%d cuts", cuts)
		})
	}
}

// idsBeside returns the id at which a store would continue if the state file were lost. It returns
// 0 if there is no file of ids.
func idsBeside(t *testing.T, path string) (bound job.ID) {
	t.Helper()
	_, _ = fmt.Sscanf(filesBeside(t, path)[filepath.Base(idsPath(path))], "job %d", &bound)
	return bound
}

// The directory of a new state file may be as new as the file. So the store also syncs the name of
// the directory (invariant 1).
func TestNameOfTheDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gpusched", "state.db")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	synced := false
	judge := func(op, at string) error {
		synced = synced || op == "sync names" && at == filepath.Dir(filepath.Dir(path))
		return nil
	}
	s, err := Open(t.Context(), path, Options{Judge: judge})
	if err != nil || !synced {
		t.Fatalf("brought to the disk: %t, %v", synced, err)
	}
	s.Close()
}

// unfoldedFiles returns the files of a store after a crash. The end of a job is in the log and not
// yet in the state file, because no checkpoint followed it.
func unfoldedFiles(t *testing.T) (files map[string][]byte) {
	t.Helper()
	s := openNew(t)
	commit(t, s, job.Record{Job: runningJob(1), Payload: payload()})
	if err := s.checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	commit(t, s, job.Record{Job: endedJob(1, job.Completed)}, job.Record{Job: queuedJob(2), Payload: payload()})
	files = map[string][]byte{}
	for _, suffix := range []string{"", "-wal", ".ids"} {
		data, err := os.ReadFile(s.path + suffix)
		if err != nil || len(data) == 0 {
			t.Fatalf("%q has %d bytes: %v", suffix, len(data), err)
		}
		files[suffix] = data
	}
	return files
}

// A damaged file is moved aside and a new one is begun. Meanwhile a power cut may undo any unsynced
// changes of names. Even so, the state file and its log still exist, an older state never counts as
// the newest, and no id is given out again (invariants 3 and 6).
func TestLostNamesOfSetAside(t *testing.T) {
	t.Parallel()
	p := newPlay(t, newDisk(t, "names-aside"), lifetime{})
	files := unfoldedFiles(t)
	for suffix, data := range files {
		if err := os.WriteFile(p.path+suffix, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.disk.Watch(filepath.Dir(p.path), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	cuts := 0
	p.atNames(func(c diskCall) {
		cuts += p.eachCut(t, func(how, path string) { requireNewest(t, fmt.Sprintf("before %v: %s", c, how), path, files) })
	})
	if _, err := (disk{p.judge}).quarantine(p.path, noon); err != nil {
		t.Fatal(err)
	}
	if err := p.open(); err != nil {
		t.Fatal(err)
	}
	p.disk.Judge(nil)
	t.Logf("%d cuts", cuts)
}

// requireNewest opens the state file as the daemon does when it starts. It checks that the file has
// the newest state, or that the file is new and all old files are kept.
func requireNewest(t *testing.T, what, path string, files map[string][]byte) {
	t.Helper()
	found := slices.Collect(maps.Values(filesBeside(t, path)))
	for suffix, data := range files {
		if !slices.Contains(found, string(data)) {
			t.Fatalf("%s: what was %q is lost", what, "state.db"+suffix)
		}
	}
	if err := mend(path, nil); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	for name, text := range filesBeside(t, path) {
		if text == "" && strings.Contains(name, asideMark) && !isLog(name) {
			t.Fatalf("%s: %q was empty, and passed for damage", what, name)
		}
	}
	s := openAt(t, path)
	defer s.Close()
	st, err := s.Load(t.Context())
	if err != nil || st.NextID <= 2 {
		t.Fatalf("%s: the next job is %d: %v", what, st.NextID, err)
	}
	var live []string
	for _, j := range st.Jobs {
		live = append(live, j.ID.String())
	}
	if got := strings.Join(live, " "); got != "" && got != "2" {
		t.Fatalf("%s: an older state: jobs %s are live", what, got)
	}
}

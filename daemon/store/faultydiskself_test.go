package store

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"testing"

	_ "modernc.org/sqlite"
)

// onDisk opens a database with one table, in one file on the disk.
func onDisk(t *testing.T, d *faultyDisk) (*sql.DB, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	db, err := sql.Open("sqlite", "file:"+path+"?vfs="+d.Name()+"&_pragma=journal_mode(OFF)&_pragma=cache_size(0)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	if _, err := db.Exec("CREATE TABLE t (x); INSERT INTO t VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	return db, path
}

// A call that fails changes nothing, except that a short write writes half (invariant 1).
func TestDiskFaults(t *testing.T) {
	d := newDisk(t, "faults")
	db, path := onDisk(t, d)
	for f, changed := range map[diskFault]bool{faultIO: false, faultFull: true, faultShort: true} {
		before := contentOf(path)
		d.Judge(func(c diskCall) diskFault {
			if c.Op == opWrite && c.N == 4096 {
				return f
			}
			return noFault
		})
		if _, err := db.Exec("INSERT INTO t VALUES (randomblob(3000))"); err == nil {
			t.Errorf("fault %d: no error", f)
		}
		d.Judge(nil)
		after, err := os.ReadFile(path)
		if err != nil || bytes.Equal(before, after) == changed {
			t.Errorf("fault %d: changed %t: %v", f, !changed, err)
		}
		if err := os.WriteFile(path, before, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// After a power loss, each sector that was not synced may have its old or its new content. If a
// sync fails, later syncs do not sync the sectors of the failed sync (invariants 2 and 3).
func TestDiskPowerLoss(t *testing.T) {
	d := newDisk(t, "power")
	path := filepath.Join(t.TempDir(), "f")
	put := func(s string, at int) {
		d.markWrite(path, int64(at), int64(len(s)))
		now := contentOf(path)
		now = append(now, make([]byte, max(0, at+len(s)-len(now)))...)
		copy(now[at:], s)
		if err := os.WriteFile(path, now, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	left := func(reached ...int64) string {
		got := d.files[path].afterCut(contentOf(path), func(s int64) bool { return len(reached) > 0 && s == reached[0] })
		var text []byte
		for s := 0; s*sector < len(got); s++ {
			text = append(text, got[s*sector])
		}
		return string(text)
	}
	require := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %q, not %q", what, got, want)
		}
	}
	put("a", 0)
	require("written", left(), "")
	require("written, and reached", left(0), "a")
	d.markSynced(path, true)
	require("synced", left(), "a")
	put("b", 0)
	put("c", 2*sector)
	require("one sector of two", left(2), "a\x00c")
	d.markSynced(path, false)
	d.markSynced(path, true)
	require("a sync that failed, and one that did not", left(), "a\x00\x00")
	put("b", 0)
	d.markSynced(path, true)
	require("written again", left(), "b\x00\x00")
}

// After a power loss, each unsynced change of names is on disk whole or not at all. A file that
// lost its name keeps its content (invariant 4).
func TestDiskLostNames(t *testing.T) {
	d, dir := newDisk(t, "lost"), t.TempDir()
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d.Ask(diskCall{Op: opSyncFile, Path: filepath.Join(dir, name)})
	}
	move := func(from, to string) {
		if err := os.Rename(filepath.Join(dir, from), filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
		d.Ask(diskCall{Op: "rename"})
	}
	left := func(changes ...int) (text string) {
		to := t.TempDir()
		changed := func(i int) bool { return slices.Contains(changes, i) }
		if err := d.Cut(to, changed, func(int64) bool { return false }); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "a.new", "b"} {
			if data := contentOf(filepath.Join(to, name)); data != nil {
				text += name + "=" + string(data) + " "
			}
		}
		return text
	}
	require := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %q, not %q", what, got, want)
		}
	}
	put("a", "old")
	if err := d.Watch(dir, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	put("a.new", "new")
	move("a.new", "a")
	require("nothing", left(), "a=old ")
	require("the new file", left(0), "a=old a.new=new ")
	require("the move alone", left(1), "a=new ")
	d.Ask(diskCall{Op: opSyncNames, Path: dir})
	require("synced", left(), "a=new ")
	move("a", "b")
	require("moved, and not synced", left(), "a=new ")
	require("moved", left(0), "b=new ")
	db, path := onDisk(t, d)
	db.Close()
	if err := d.Watch(filepath.Dir(path), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path+"?vfs="+d.Name()+"&_pragma=journal_mode(PERSIST)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("INSERT INTO t VALUES (2)"); err != nil || d.Late() != 0 {
		t.Errorf("%d names are late after the first sync of a journal: %v", d.Late(), err)
	}
}

package launch

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

func specDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "specs")
	if err := os.Mkdir(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

func mustWrite(t *testing.T, dir string, id int64, s *Spec) string {
	t.Helper()
	path, err := Write(dir, id, os.Geteuid(), s)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A spec belongs to the writer, is readable by its user, and is replaced in one step (invariant 2).
func TestWriteAndRead(t *testing.T) {
	dir := specDir(t)
	for attempt := 1; attempt <= 2; attempt++ {
		s := fullSpec()
		s.Attempt = attempt
		path := mustWrite(t, dir, 42, s)
		if want := filepath.Join(dir, "42."+strconv.Itoa(attempt)); path != want || path != Path(dir, 42, attempt) {
			t.Fatal(path)
		}
		path = mustWrite(t, dir, 42, s)
		checkPrivate(t, path, os.Geteuid())
		got, err := Read(path)
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
	if names := list(t, dir); !slices.Equal(names, []string{"42.1", "42.2"}) {
		t.Fatal(names)
	}
}

// Write replaces a file or link that has the name of the spec, and never writes through a link.
func TestWriteFollowsNothing(t *testing.T) {
	dir := specDir(t)
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"7", tempPrefix + "7"} {
		if err := os.Symlink(victim, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	path := mustWrite(t, dir, 7, fullSpec())
	if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() {
		t.Fatalf("%v, %v", st, err)
	}
	if b, err := os.ReadFile(victim); err != nil || string(b) != "precious" {
		t.Fatalf("%q, %v", b, err)
	}
}

// Write refuses a directory in which others can create names.
func TestWriteRefusesOpenDirectory(t *testing.T) {
	for name, dir := range map[string]func() string{
		"writable by all": func() string { d := specDir(t); os.Chmod(d, 0o777); return d },
		"a link":          func() string { d := filepath.Join(t.TempDir(), "link"); os.Symlink(specDir(t), d); return d },
		"missing":         func() string { return filepath.Join(t.TempDir(), "none") },
	} {
		if path, err := Write(dir(), 1, os.Geteuid(), fullSpec()); err == nil {
			t.Errorf("%s: wrote %s", name, path)
		}
	}
	if _, err := Write(specDir(t), 1, os.Geteuid(), &Spec{Program: contract.Program{Dir: strings.Repeat("x", MaxSpecBytes)}}); err == nil {
		t.Error("wrote what Read refuses")
	}
}

func TestReadRefuses(t *testing.T) {
	dir := specDir(t)
	good := mustWrite(t, dir, 1, fullSpec())
	make := func(name string, f func(path string) error) string {
		path := filepath.Join(dir, name)
		if err := f(path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, path := range []string{
		filepath.Join(dir, "none"),
		dir,
		"/dev/null",
		make("link", func(p string) error { return os.Symlink(good, p) }),
		make("large", func(p string) error {
			return errors.Join(os.WriteFile(p, nil, 0o600), os.Truncate(p, MaxSpecBytes+1))
		}),
		make("damaged", func(p string) error { return os.WriteFile(p, Encode(fullSpec())[:200], 0o600) }),
		make("empty", func(p string) error { return os.WriteFile(p, nil, 0o600) }),
		"/etc/passwd-" + "that-is-not-there",
		"/proc/1/status",
	} {
		if s, err := Read(path); err == nil {
			t.Errorf("%s: read %+v", path, s)
		}
	}
}

// checkPrivate checks that only uid may read the file.
func checkPrivate(t *testing.T, path string, uid int) {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		t.Fatal(err)
	}
	got, ok := grantedUser(path)
	// If a file has an access list, the mode shows the list's mask in place of the group's bits.
	if int(st.Uid) != os.Geteuid() || st.Mode&0o7777 != 0o640 || !ok || got != uid {
		t.Errorf("%s belongs to %d with mode %o, and %d may read it (%t)", path, st.Uid, st.Mode, got, ok)
	}
}

// All small specs have the same size (invariant 2), and take the same amount of memory.
func TestSizeRevealsNothing(t *testing.T) {
	dir := specDir(t)
	var first unix.Stat_t
	for id, env := range []int{0, 1, 1000, 10000} {
		path := mustWrite(t, dir, int64(id+1), &Spec{Program: contract.Program{Argv: []string{"prog"}, Env: []string{"A=" + strings.Repeat("x", env)}}})
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil {
			t.Fatal(err)
		}
		if id == 0 {
			first = st
		}
		if st.Size != first.Size || st.Blocks != first.Blocks {
			t.Errorf("an environment of %d bytes shows: size %d, %d blocks, not %d, %d", env, st.Size, st.Blocks, first.Size, first.Blocks)
		}
	}
}

// Removing a spec or note, in any way, frees its memory even if somebody keeps it open (invariant
// 8).
func TestRemovedFilesFreeMemory(t *testing.T) {
	dir := specDir(t)
	for what, remove := range map[string]func() error{
		"removed":  func() error { return Remove(dir, 1, fullSpec().Attempt) },
		"swept":    func() error { return Sweep(dir, func(int64, int) bool { return false }) },
		"replaced": func() error { _, err := Write(dir, 1, os.Geteuid(), &Spec{Attempt: fullSpec().Attempt}); return err },
		"a note":   func() error { return RemoveNote(dir, 1) },
	} {
		path := mustWrite(t, dir, 1, fullSpec())
		if what == "a note" {
			path = notePath(dir, "1")
			if err := WriteNote(dir, 1, os.Geteuid(), "text"); err != nil {
				t.Fatal(err)
			}
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := remove(); err != nil {
			t.Fatal(err)
		}
		if st, err := f.Stat(); err != nil || st.Size() != 0 {
			t.Errorf("%s: %d bytes are still there, %v", what, st.Size(), err)
		}
	}
}

// The larger specs of one user share a limit. Specs of others, and small ones, do not count
// (invariant 8).
func TestRoom(t *testing.T) {
	dir := specDir(t)
	large := &Spec{Program: contract.Program{Argv: []string{strings.Repeat("x", smallBytes)}}}
	for id, s := range []*Spec{large, large, fullSpec(), {}} {
		mustWrite(t, dir, int64(id+1), s)
	}
	held, err := heldBy(dir, os.Geteuid())
	if want := int64(2*(smallBytes+blockBytes) + len(pad(Encode(fullSpec())))); err != nil || held != want {
		t.Fatalf("%d bytes are held, not %d: %v", held, want, err)
	}
	if err := checkRoom(dir, os.Geteuid(), 100, held+100); err != nil {
		t.Error(err)
	}
	var full *RoomError
	if err := checkRoom(dir, os.Geteuid(), 100, held+99); !errors.As(err, &full) || *full != (RoomError{100, held, held + 99}) {
		t.Errorf("more than its share: %v", err)
	}
	if err := checkRoom(dir, os.Geteuid()+1, 100, 100); err != nil {
		t.Errorf("another user: %v", err)
	}
	if got, err := share(unix.AT_FDCWD); err == nil {
		t.Errorf("a share of nothing: %d", got)
	}
}

// Read accepts a file of root or of the caller, and no other user's. As root, the test can create
// such a file.
func TestReadChecksTheOwner(t *testing.T) {
	own := mustWrite(t, specDir(t), 1, fullSpec())
	if _, err := Read(own); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		if _, err := Read("/etc/hostname"); !errors.Is(err, ErrSpec) { // readable, but not a spec
			t.Fatal(err)
		}
		return
	}
	if err := os.Chown(own, 4711, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(own); err == nil || !strings.Contains(err.Error(), "belongs to user") {
		t.Fatal(err)
	}
}

// Each attempt has a spec of its own: removing one spec leaves that of the next attempt.
func TestRemoveAndSweep(t *testing.T) {
	dir := specDir(t)
	for id := range int64(5) {
		for attempt := range 2 {
			mustWrite(t, dir, id+1, &Spec{Attempt: attempt + 1})
		}
	}
	for _, junk := range []string{tempPrefix + "9.1", "9", "007", "x", "+5", "4.0", "4.x", "4.01", "4.-1", "4.2.1", ".4", "4."} {
		if err := os.WriteFile(filepath.Join(dir, junk), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(Remove(dir, 2, 1), Remove(dir, 2, 1)); err != nil {
		t.Fatal(err)
	}
	if names := list(t, dir); slices.Contains(names, "2.1") || !slices.Contains(names, "2.2") {
		t.Fatal(names)
	}
	err := Sweep(dir, func(id int64, attempt int) bool { return id == 4 && attempt != 1 || id == 9 })
	if err != nil {
		t.Fatal(err)
	}
	if names := list(t, dir); !slices.Equal(names, []string{"4.2"}) {
		t.Fatal(names)
	}
	if err := Sweep(filepath.Join(dir, "none"), func(int64, int) bool { return false }); err != nil {
		t.Fatal(err)
	}
}

package launch

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
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

// A spec is for its owner alone, and replaced in one step (invariant 2).
func TestWriteAndRead(t *testing.T) {
	dir := specDir(t)
	for attempt := range 3 {
		s := fullSpec()
		s.Attempt = attempt
		path := mustWrite(t, dir, 42, s)
		if path != filepath.Join(dir, "42") || path != Path(dir, 42) {
			t.Fatal(path)
		}
		st, err := os.Stat(path)
		if err != nil || st.Mode() != 0o400 {
			t.Fatalf("%v, %v", st.Mode(), err)
		}
		got, err := Read(path)
		if err != nil || !reflect.DeepEqual(got, s) {
			t.Fatalf("got %+v, %v", got, err)
		}
	}
	if names := list(t, dir); !slices.Equal(names, []string{"42"}) {
		t.Fatal(names)
	}
}

// What lies in the way, links too, is replaced and never written through.
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

// A directory in which others can make names is refused.
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
	if _, err := Write(specDir(t), 1, os.Geteuid(), &Spec{Dir: strings.Repeat("x", MaxSpecBytes)}); err == nil {
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

// Another user's file is not obeyed. As root the test can make one; otherwise
// a file of root's is at hand.
func TestReadRefusesForeignFile(t *testing.T) {
	path := "/etc/hostname"
	if os.Geteuid() == 0 {
		var err error
		if path, err = Write(specDir(t), 1, 4711, fullSpec()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "belongs to user") {
		t.Fatal(err)
	}
}

func TestRemoveAndSweep(t *testing.T) {
	dir := specDir(t)
	for id := range int64(5) {
		mustWrite(t, dir, id+1, fullSpec())
	}
	for _, junk := range []string{tempPrefix + "9", "007", "x", "+5"} {
		if err := os.WriteFile(filepath.Join(dir, junk), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(Remove(dir, 2), Remove(dir, 2)); err != nil {
		t.Fatal(err)
	}
	if err := Sweep(dir, func(id int64) bool { return id >= 4 && id != 9 }); err != nil {
		t.Fatal(err)
	}
	if names := list(t, dir); !slices.Equal(names, []string{"4", "5"}) {
		t.Fatal(names)
	}
	if err := Sweep(filepath.Join(dir, "none"), func(int64) bool { return false }); err != nil {
		t.Fatal(err)
	}
}

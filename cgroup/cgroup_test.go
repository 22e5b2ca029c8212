package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/units/contract"
)

// tree writes files below a directory that takes the place of the hierarchy.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// A value that cannot be read is Unknown, never zero (invariant 3).
func TestRead(t *testing.T) {
	const group = "/gpujobs.slice/gpujobs-u1001.slice/gpujob-1.service"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  Stats
		peak  int64
	}{
		{"all", map[string]string{
			"cpu.stat": "usage_usec 1500000\nuser_usec 1000000\nsystem_usec 500000\n", "memory.current": "4096\n", "memory.peak": "8192\n",
			"pids.current": "3\n", "memory.events": "low 0\nhigh 0\nmax 7\noom 2\noom_kill 1\n", "memory.stat": "anon 1\n",
		}, Stats{MemBytes: 4096, PeakMemBytes: 8192, CPU: 1500 * time.Millisecond}, 8192},
		{"a kernel without memory.peak", map[string]string{"cpu.stat": "usage_usec 1\n", "memory.current": "4096\n", "memory.events": "oom_kill 0\n", "pids.current": "1\n"},
			Stats{MemBytes: 4096, PeakMemBytes: Unknown, CPU: time.Microsecond}, 4096},
		{"no controllers", map[string]string{"cpu.stat": "usage_usec 20\n"},
			Stats{MemBytes: Unknown, PeakMemBytes: Unknown, CPU: 20 * time.Microsecond}, 0},
		{"nonsense", map[string]string{"memory.current": "max\n", "cpu.stat": "usage_usec 0\n"},
			Stats{MemBytes: Unknown, PeakMemBytes: Unknown}, 0},
	} {
		files := map[string]string{}
		for name, text := range c.files {
			files[group+"/"+name] = text
		}
		got, err := Read(tree(t, files), group)
		if err != nil || got != c.want || got.PeakOrNow() != c.peak {
			t.Errorf("%s: got %+v, %v, want %+v", c.name, got, err, c.want)
		}
	}
	root := tree(t, map[string]string{"cpu.stat": "usage_usec 5\n"})
	if s, err := Read(root, group); !errors.Is(err, ErrGone) {
		t.Errorf("gone: got %+v, %v", s, err)
	}
	for _, bad := range []string{"", "/", "relative", "/../..", "/a/../b", "//a"} {
		if s, err := Read(root, bad); err == nil {
			t.Errorf("Read(%q) = %+v", bad, s)
		}
	}
}

func TestControllers(t *testing.T) {
	root := tree(t, map[string]string{"cgroup.controllers": "cpuset cpu io memory pids\n"})
	have, err := Controllers(root)
	if err != nil || !slices.Equal(have, []string{"cpu", "cpuset", "io", "memory", "pids"}) {
		t.Errorf("got %v, %v", have, err)
	}
	hybrid := tree(t, map[string]string{"memory/memory.limit_in_bytes": "1"})
	if have, err := Controllers(hybrid); err == nil {
		t.Errorf("hybrid: got %v, %v", have, err)
	}
	for _, c := range []struct{ have, want []string }{
		{[]string{"cpu", "memory", "pids"}, nil}, {nil, []string{"memory", "pids", "cpu"}}, {[]string{"cpu"}, []string{"memory", "pids"}},
	} {
		if got := Missing(c.have); !slices.Equal(got, c.want) {
			t.Errorf("with %v it misses %v, want %v", c.have, got, c.want)
		}
	}
}

func TestDevices(t *testing.T) {
	if got := GPU(3).Path(); got != "/dev/char/195:3" {
		t.Errorf("got %q", got)
	}
	for d, want := range map[Device]bool{
		{195, 0}: true, {195, 7}: true, {195, contract.ProbeMinor}: true, {195, contract.CtlMinor}: false, {195, contract.ModesetMinor}: false, {511, 0}: false, {10, 229}: false,
	} {
		if d.Reserved() != want {
			t.Errorf("%v reserved: %v", d, !want)
		}
	}
}

// StatNodes returns the devices of extra nodes that exist, and ignores missing nodes. It never
// returns a GPU or the probe, whatever the list says (invariant 2).
func TestStatNodes(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	found := StatNodes([]string{"/dev/null", "/dev/nowhere", link, "/dev/zero", file, "/dev"})
	if want := []Device{{1, 3}, {1, 5}}; !reflect.DeepEqual(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
	for path, want := range map[string]error{"/dev/nowhere": fs.ErrNotExist, file: errNotDevice, "/dev": errNotDevice} {
		if _, err := statNode(path); !errors.Is(err, want) {
			t.Errorf("%s is left out: %v", path, err)
		}
	}
}

// Processes at every depth are found. A process's name that looks like a state is not mistaken for
// the state.
func TestProcesses(t *testing.T) {
	const group = "/gpujobs.slice/gpujob-1.service"
	root := tree(t, map[string]string{group + "/cgroup.procs": "10\n11\n", group + "/below/cgroup.procs": "12\n", group + "/empty/cgroup.procs": ""})
	proc := tree(t, map[string]string{"10/stat": "10 (a) R) D 1 10", "11/stat": "11 (b"})
	got, err := Processes(root, proc, group)
	if want := []Process{{10, "a) R", 'D'}, {11, "", '?'}, {12, "", '?'}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if _, err := Processes(root, proc, "/gpujobs.slice/gone"); !errors.Is(err, ErrGone) {
		t.Errorf("a missing group: %v", err)
	}
	for _, bad := range []string{"", "/", "a", "/a/../b"} {
		if _, err := Processes(root, proc, bad); err == nil || errors.Is(err, ErrGone) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

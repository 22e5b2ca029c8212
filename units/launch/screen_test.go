package launch

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// boundSocket creates a socket that listens until the end of the test.
func boundSocket(t *testing.T, path string) (fd int) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrUnix{Name: path})
	}
	if err == nil {
		err = unix.Listen(fd, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

// sockets fills a directory with files that sessions of GNU screen, and other programs, leave. Only
// the files named dead belong to a session that has ended.
func sockets(t *testing.T, dir string) {
	t.Helper()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"1.dead", "2.other", "dead", ".dead", "x3.dead", "4.dead.more", "elsewhere"} {
		unix.Close(boundSocket(t, at(name)))
	}
	alive := boundSocket(t, at("5.dead"))
	t.Cleanup(func() { unix.Close(alive) })
	for _, name := range []string{"6.dead", "7.dead"} {
		if err := unix.Mkfifo(at(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reader, err := os.OpenFile(at("7.dead"), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	for _, err := range []error{
		os.WriteFile(at("8.dead"), nil, 0o600), os.Symlink("elsewhere", at("9.dead")), os.Mkdir(at("10.dead"), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func names(t *testing.T, dir string) map[string]bool {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, entry := range list {
		all[entry.Name()] = true
	}
	return all
}

// The socket or pipe of a dead session is removed, and nothing else, whatever its name. Nothing is
// removed from a directory that is not the user's.
func TestRemoveDead(t *testing.T) {
	short, err := os.MkdirTemp("", "screen") // the path of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(short) })
	own, others := filepath.Join(short, "own"), filepath.Join(short, "others")
	for _, dir := range []string{own, others} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		sockets(t, dir)
	}
	link := filepath.Join(short, "link")
	if err := os.Symlink("own", link); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(others, mallory, -1); err != nil {
		t.Fatal(err)
	}
	before := names(t, own)
	for _, dir := range []string{others, link, filepath.Join(short, "missing")} {
		removeDead(dir, "dead")
	}
	removeDead(own, "missing")
	if !maps.Equal(names(t, own), before) || !maps.Equal(names(t, others), before) {
		t.Errorf("there are %v in one's own and %v in another's, of %v", names(t, own), names(t, others), before)
	}
	removeDead(own, "dead")
	gone := slices.DeleteFunc(slices.Sorted(maps.Keys(before)), func(name string) bool { return names(t, own)[name] })
	if strings.Join(gone, " ") != "1.dead 6.dead" {
		t.Errorf("%q are removed", gone)
	}
}

// Sockets are looked for in the directories in which the user's own screen puts them.
func TestScreenDirs(t *testing.T) {
	s := &Spec{User: "alice", Home: "/home/alice"}
	if got := strings.Join(screenDirs(s), " "); !strings.HasPrefix(got, "/run/screen/S-alice ") || !strings.HasSuffix(got, " /home/alice/.screen") {
		t.Error(got)
	}
	if s.Home = ""; slices.Contains(screenDirs(s), "/.screen") {
		t.Error("without a home", screenDirs(s))
	}
	s.Env = []string{"SCREENDIR=/tmp/mine"}
	if got := screenDirs(s); !slices.Equal(got, []string{"/tmp/mine"}) {
		t.Error(got)
	}
}

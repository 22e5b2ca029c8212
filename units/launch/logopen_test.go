package launch

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	mallory = 4711
	prof    = 4712
)

// place creates a path under a directory: a link if it has a target, a directory if the name ends
// in a slash, and otherwise an empty file.
func place(t *testing.T, dir, name, to string, owner int) {
	t.Helper()
	path := filepath.Join(dir, name)
	err := error(nil)
	switch {
	case to != "":
		err = os.Symlink(to, path)
	case strings.HasSuffix(name, "/"):
		if err = os.Mkdir(path, 0o777); err == nil {
			err = os.Chmod(path, 0o777) // whatever the umask
		}
	default:
		err = os.WriteFile(path, []byte("mine\n"), 0o600)
	}
	if err == nil {
		err = os.Lchown(path, owner, -1)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// openedPath returns the path, under dir, at which a log was created, or the reason why it was not
// opened.
func openedPath(t *testing.T, dir, path string) string {
	t.Helper()
	fd, err := openLog(path, true)
	if err != nil {
		return err.Error()
	}
	defer unix.Close(fd)
	at := make([]byte, unix.PathMax)
	n, err := unix.Readlink("/proc/self/fd/"+strconv.Itoa(fd), at)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(string(at[:n]), dir+"/")
}

// A link that another user may have created never leads output into the user's own files, with or
// without the sticky bit. Links of the user and of root are followed. On the way, links of the
// directory's owner are followed, too.
func TestLogThroughLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []struct {
		name, to string
		owner    int
	}{
		{"home/", "", 0}, {"home/precious", "", 0}, {"home/logs/", "", 0},
		{"shared/", "", 0}, {"shared/theirs", "../home/precious", mallory}, {"shared/mine", "../home/precious", 0},
		{"shared/way", "../home", mallory}, {"shared/over", "theirs", 0}, {"shared/absolute", dir + "/home", 0},
		{"shared/dangling", "../home/.bashrc", mallory}, {"shared/nowhere", "new/file", 0},
		{"profs/", "", prof}, {"profs/current", "../home/logs", prof}, {"profs/way", "../home/logs", mallory},
		{"profs/log", "../home/precious", prof},
	} {
		place(t, dir, p.name, p.to, p.owner)
	}
	foreign := othersLink{}.Error()
	t.Chdir(dir)
	for _, mode := range []os.FileMode{0o777, 0o777 | os.ModeSticky} {
		for _, shared := range []string{"shared", "profs"} {
			if err := os.Chmod(shared, mode); err != nil {
				t.Fatal(err)
			}
		}
		for path, want := range map[string]string{
			"shared/theirs": foreign, "shared/over": foreign, "shared/dangling": foreign, "shared/way/logs/x": foreign,
			"shared/../shared/./theirs": foreign, dir + "/shared/theirs": foreign, "profs/way/x": foreign, "profs/log": foreign,
			"shared/mine": "home/precious", "shared/absolute/logs/y": "home/logs/y", "profs/current/z": "home/logs/z",
			"shared/nowhere": "shared/new/file", "shared//new/./deep/er": "shared/new/deep/er",
			"home/precious/": "not a directory", "home/logs/": notRegular{}.Error(), "home/logs/.": notRegular{}.Error(),
			"home/logs/..": notRegular{}.Error(), "": notRegular{}.Error(), "/": notRegular{}.Error(),
		} {
			if err := os.WriteFile("home/precious", []byte("mine\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := openedPath(t, dir, path); got != want {
				t.Errorf("%v: %s is %q, not %q", mode, path, got, want)
			}
			if want == foreign && content(t, "home/precious") != "mine\n" {
				t.Errorf("%v: %s emptied a file", mode, path)
			}
		}
	}
	if _, err := os.Lstat("home/.bashrc"); !errors.Is(err, os.ErrNotExist) {
		t.Error("a file was made where a link of another's leads:", err)
	}
}

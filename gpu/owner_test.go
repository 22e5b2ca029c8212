package gpu

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gpusched/gpusched/units/contract"
)

func TestUnitOfCgroup(t *testing.T) {
	const ofJob = "/gpujobs.slice/gpujobs-u1001.slice/gpujobs-u1001-j17.slice"
	tests := []struct{ name, text, want string }{
		{"job", "0::/gpujobs.slice/gpujobs-u1001.slice/gpujob-17.service\n", "gpujob-17.service"},
		{"serves MPS", "0::/gpujobs.slice/gpujobs-u1001.slice/gpusched-mps-1001-0.service\n", "gpusched-mps-1001-0.service"},
		{"user service with a name of MPS", "0::/user.slice/user-1001.slice/user@1001.service/app.slice/gpusched-mps-1001-0.service\n", "app.slice"},
		{"below a job", "0::/gpujobs.slice/gpujobs-u1001.slice/gpujob-17.service/sub/app.scope\n", "gpujob-17.service"},
		{"systemd inside a job", "0::/gpujobs.slice/gpujob-1.service/system.slice/gpujob-9.service\n", "gpujob-1.service"},
		{"container of a job", "0::" + ofJob + "/docker-0123.scope\n", "gpujobs-u1001-j17.slice"},
		{"below a container of a job", "0::" + ofJob + "/docker-0123.scope/system.slice/gpujob-9.service\n", "gpujobs-u1001-j17.slice"},
		{"folder in a job's slice", "0::" + ofJob + "/x\n", "gpujobs-u1001-j17.slice"},
		{"job in its own slice", "0::" + ofJob + "/gpujob-17.service\n", "gpujob-17.service"},
		{"a job's slice in a user's systemd", "0::/user.slice/user-1001.slice/user@1001.service" + ofJob + "/libpod-1.scope\n", "libpod-1.scope"},
		{"a job's slice in a system's folder", "0::/system.slice/gpujobs-u1001-j17.slice/0123\n", "gpujobs-u1001-j17.slice"},
		{"a job's slice of another user", "0::/gpujobs.slice/gpujobs-u1002.slice/gpujobs-u1001-j17.slice/docker-1.scope\n", "docker-1.scope"},
		{"a job's slice in a folder", "0::/x" + ofJob + "/docker-1.scope\n", "docker-1.scope"},
		{"deleted", "0::/gpujobs.slice/gpujob-17.service (deleted)\n", "gpujob-17.service"},
		{"session", "0::/user.slice/user-1001.slice/session-3.scope\n", "session-3.scope"},
		{"user service", "0::/user.slice/user-1001.slice/user@1001.service/app.slice/tune.service\n", "tune.service"},
		{"user service with a job's name", "0::/user.slice/user-1001.slice/user@1001.service/app.slice/gpujob-5.service\n", "app.slice"},
		{"container service with a job's name", "0::/system.slice/docker-abc.scope/system.slice/gpujob-5.service\n", "system.slice"},
		{"plain directory with a job's name below", "0::/docker/abc/gpujob-5.service\n", ""},
		{"only a slice", "0::/user.slice\n", "user.slice"},
		{"root", "0::/\n", ""},
		{"no newline", "0::/system.slice/sshd.service", "sshd.service"},
		{"hybrid, empty version 2", "12:devices:/x.service\n1:name=systemd:/system.slice/cron.service\n0::/\n", "cron.service"},
		{"hybrid, both", "1:name=systemd:/system.slice/a.service\n0::/system.slice/b.service\n", "b.service"},
		{"only version 1 controllers", "4:memory:/system.slice/a.service\n", ""},
		{"colon in the path", "0::/system.slice/a:b.service\n", "a:b.service"},
		{"control characters", "0::/system.slice/a\x1b[31m.service\n", "a?[31m.service"},
		{"empty", "", ""},
		{"garbage", "::::\n:\nfoo\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := UnitOfCgroup(tt.text, ""); got != tt.want {
				t.Errorf("UnitOfCgroup(%q) = %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}

// The name of the unit is printable and of limited length, whatever the text is (invariant 5).
func FuzzUnitOfCgroup(f *testing.F) {
	f.Add("0::/gpujobs.slice/gpujob-17.service\n1:name=systemd:/a.slice\n")
	f.Add("0::/\xff\x00.service (deleted)")
	f.Fuzz(func(t *testing.T, text string) {
		unit := UnitOfCgroup(text, "")
		if unit != toPrintable(unit, maxUnit) || !utf8.ValidString(unit) {
			t.Errorf("unit %q is not printable or too long", unit)
		}
		if strings.HasPrefix(unit, contract.UnitPrefix) && !strings.Contains(text, "/"+contract.UnitPrefix) {
			t.Errorf("a job %q out of %q", unit, text)
		}
	})
}

func TestOwnerOfStatus(t *testing.T) {
	tests := []struct {
		name, text string
		want       Owner
	}{
		{"running", "Name:\tpython\nUmask:\t0022\nState:\tR (running)\nUid:\t1001\t0\t0\t0\nThreads:\t9\n", Owner{Alive: true, UID: 1001, Comm: "python"}},
		{"zombie", "Name:\tpython\nState:\tZ (zombie)\nUid:\t1001\t1\t1\t1\nThreads:\t1\n", Owner{UID: 1001, Comm: "python"}},
		{"leader gone, threads left", "Name:\tx\nState:\tZ (zombie)\nUid:\t5\t5\t5\t5\nThreads:\t3\n", Owner{Alive: true, UID: 5, Comm: "x"}},
		{"colon and control characters in the name", "Name:\ta:b\x07\nState:\tS\nUid:\t1\nThreads:\t1\n", Owner{Alive: true, UID: 1, Comm: "a:b?"}},
		{"no uid", "Name:\tx\nState:\tS\nUid:\tmany\n", Owner{Alive: true, UID: -1, Comm: "x"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := ownerOfStatus(tt.text); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestOwnerOfSelf(t *testing.T) {
	o := OwnerOf("/proc", os.Getpid())
	if !o.Alive || o.UID != os.Getuid() || o.Comm == "" || o.Start == 0 || o.Age <= 0 {
		t.Errorf("self is %+v", o)
	}
}

func TestOwnerOfTheDead(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{cmd.Process.Pid, 0, -1} {
		if got := OwnerOf("/proc", pid); got != (Owner{UID: -1}) {
			t.Errorf("pid %d is %+v", pid, got)
		}
	}
}

// The start time distinguishes a process from an earlier one with the same pid, whatever its name
// is.
func TestStart(t *testing.T) {
	root := t.TempDir()
	for pid, stat := range map[int]string{
		1: "1 (cat) S" + strings.Repeat(" 7", 18) + " 250 8 9\n",
		2: "2 (a) R 1) (b) S" + strings.Repeat(" 7", 18) + " 250\n",
		3: "3 (cat) S 7 7\n",
		5: "",
	} {
		dir := filepath.Join(root, strconv.Itoa(pid))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for pid, want := range map[int]uint64{1: 250, 2: 250, 3: 0, 5: 0, 6: 0, 0: 0} {
		if got := StartOf(root, pid); got != want {
			t.Errorf("process %d began at %d, want %d", pid, got, want)
		}
	}
	for text, want := range map[string]time.Duration{"3.50 7.00\n": time.Second, "2.50": 1, "1.00": 0, "NaN": 0, "Inf": 0, "1e99": 0, "": 0} {
		if got := ageOf(250, text); got != want {
			t.Errorf("at %q it is %s old, want %s", text, got, want)
		}
	}
}

func TestOwnerOfWithoutCgroup(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, strconv.Itoa(7))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "status"), []byte("Name:\tx\nState:\tS\nUid:\t3\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, want := OwnerOf(root, 7), (Owner{Alive: true, UID: 3, Comm: "x"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

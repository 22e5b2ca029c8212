package launch

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// inShell makes a shell run a script before the launcher.
func inShell(script string) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) {
		cmd.Args = append([]string{"/bin/sh", "-c", script + `; exec "$0" "$@"`}, append([]string{cmd.Path}, cmd.Args[1:]...)...)
		cmd.Path = "/bin/sh"
	}
}

// ok returns what the command printed.
func (l outcome) ok(t *testing.T) string {
	t.Helper()
	if l.status != 0 || l.stderr != "" {
		t.Fatalf("status %d, stderr %q", l.status, l.stderr)
	}
	return l.stdout
}

// Ignored and blocked signals do not reach the command (invariant 5).
func TestSignalsAreDefault(t *testing.T) {
	got := launch(t, "real", command(t, "/bin/cat", "/proc/self/status"), inShell("trap '' HUP INT QUIT PIPE USR1 TERM TSTP TTIN CHLD")).ok(t)
	want := "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\n"
	if !strings.Contains(got, want) {
		t.Errorf("the command has\n%s", got)
	}
}

// The command ignores a warning signal that is not meant for it. Everything else is unchanged.
func TestIgnoredSignal(t *testing.T) {
	s := command(t, "/bin/sh", "-c", "kill -s USR2 $$; echo survived; /bin/grep SigIgn /proc/self/status; kill -s USR1 $$")
	s.Ignored = int(unix.SIGUSR2)
	got := launch(t, "real", s, inShell("trap '' USR1"))
	if want := "survived\nSigIgn:\t0000000000000800\n"; got.stdout != want || got.status != -1 {
		t.Errorf("%q, status %d", got.stdout, got.status)
	}
}

func TestSignalsAreUnblocked(t *testing.T) {
	var old unix.Sigset_t
	all := unix.Sigset_t{}
	all.Val[0] = 1<<(unix.SIGTERM-1) | 1<<(unix.SIGINT-1) | 1<<(unix.SIGUSR1-1) | 1<<(unix.SIGCHLD-1)
	l := launch(t, "real", command(t, "/bin/grep", "SigBlk", "/proc/self/status"), func(cmd *exec.Cmd) {
		// The child inherits the mask of the forking thread.
		lockThread(t)
		if err := unix.PthreadSigmask(unix.SIG_BLOCK, &all, &old); err != nil {
			t.Fatal(err)
		}
	})
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &old, nil); err != nil {
		t.Fatal(err)
	}
	if got := l.ok(t); got != "SigBlk:\t0000000000000000\n" {
		t.Error(got)
	}
}

// Descriptors that leaked into the launcher are not passed on (invariant 5).
func TestDescriptorsAreClosed(t *testing.T) {
	f, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := launch(t, "real", command(t, "/bin/ls", "/proc/self/fd"), func(cmd *exec.Cmd) {
		cmd.ExtraFiles = []*os.File{f, f, nil, f}
	}).ok(t)
	if got != "0\n1\n2\n3\n" { // 3 is the directory that ls reads
		t.Errorf("descriptors %q", got)
	}
}

func TestUmask(t *testing.T) {
	for _, mode := range []contract.EnvMode{contract.EnvClean, contract.EnvLogin} {
		s := command(t, "/bin/grep", "Umask", "/proc/self/status")
		s.Umask, s.EnvMode = 0o137, mode
		if got := launch(t, "real", s).ok(t); got != "Umask:\t0137\n" {
			t.Errorf("%s: %q", mode, got)
		}
	}
}

// Limits are those of the spec, and never above those of the unit. Limits that the spec does not
// name stay as in the unit, even the one that Go's runtime raises for itself.
func TestLimits(t *testing.T) {
	pad := strings.Repeat("x", 120<<10)
	tight := []contract.Limit{{Name: "NPROC", Soft: 1, Hard: 1}, {Name: "FSIZE", Soft: 0}}
	held := []string{"processes 1 1", "file size 0 unlimited"}
	if !raceEnabled { // the race detector's own memory grows
		tight = append(tight, contract.Limit{Name: "AS", Soft: 64 << 20, Hard: 64 << 20}, contract.Limit{Name: "DATA", Soft: 4 << 20})
		held = append(held, "address space 67108864 67108864", "data size 4194304 unlimited")
	}
	for _, c := range []struct {
		name   string
		limits []contract.Limit
		before string
		want   []string
	}{
		{"untouched", nil, "ulimit -S -n 1234; ulimit -H -n 5000; ulimit -c 0", []string{"open files 1234 5000", "core file size 0 0"}},
		{"soft", []contract.Limit{{Name: "NOFILE", Soft: 777}}, "ulimit -S -n 1234; ulimit -H -n 5000", []string{"open files 777 5000"}},
		{"hard", []contract.Limit{{Name: "NOFILE", Soft: 777, Hard: 888}, {Name: "CORE", Soft: 0, Hard: math.MaxUint64}}, "ulimit -S -n 1234; ulimit -H -n 5000", []string{"open files 777 888", "core file size 0 unlimited"}},
		{"same as the runtime's", []contract.Limit{{Name: "NOFILE", Soft: 5000, Hard: 5000}}, "ulimit -S -n 1234; ulimit -H -n 5000", []string{"open files 5000 5000"}},
		{"above the unit's", []contract.Limit{{Name: "NOFILE", Soft: math.MaxUint64, Hard: math.MaxUint64}}, "ulimit -S -n 1234; ulimit -H -n 5000", []string{"open files 5000 5000"}},
		{"too small for the launcher", tight, ":", held},
		{"too few files for the launcher", []contract.Limit{{Name: "NOFILE", Soft: 4, Hard: 5}}, ":", []string{"open files 4 5"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := command(t, "/bin/cat", "/proc/self/limits")
			s.SoftLimits = c.limits
			s.Env = []string{"PAD=" + pad, "PAD2=" + pad, "PAD3=" + pad, "PAD4=" + pad, "PAD5=" + pad, "PAD6=" + pad, "PAD7=" + pad, "PAD8=" + pad}
			text := strings.Join(strings.Fields(launch(t, "real", s, inShell(c.before)).ok(t)), " ")
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in %s", want, text)
				}
			}
		})
	}
}

// The process that keeps a terminal has limits under which it can run, and gives the command the
// other limits. If the command can't be run, its output says so.
func TestLimitsOfTerminals(t *testing.T) {
	space := uint64(64 << 20)
	if raceEnabled { // the race detector reserves terabytes of addresses
		space = 1 << 47
	}
	for _, setup := range []string{"", "true"} {
		s := command(t, "/bin/cat", "/proc/self/limits")
		s.TTY, s.Setup.Command = true, setup
		if argv := texts(launch(t, "real", s).received(t).Argv); !slices.Equal(argv[1:], []string{contract.HoldFlag, "-", s.Argv[0], s.Argv[1]}) {
			t.Errorf("without limits: %q", argv)
		}
		s.Aimed = []int{15, 10}
		argv := texts(launch(t, "real", s).received(t).Argv)
		if want := []string{contract.AimedFlag, "15,10", contract.HoldFlag, "-"}; !slices.Equal(argv[1:5], want) {
			t.Errorf("with signals for the command alone: %q", argv)
		}
		s.Aimed = nil
		s.SoftLimits = []contract.Limit{{Name: "NOFILE", Soft: 777}, {Name: "AS", Soft: space, Hard: space}, {Name: "NPROC", Soft: 1, Hard: 1}}
		argv = texts(launch(t, "real", s).received(t).Argv)
		if !slices.Equal(argv[1:], []string{contract.HoldFlag, fmt.Sprintf("AS=%d:%d,NPROC=1:1", space, space), s.Argv[0], s.Argv[1]}) {
			t.Fatalf("%q", argv)
		}
		out, err := exec.Command(testBinary(t), append([]string{contract.LimitFlag}, argv[2:]...)...).CombinedOutput()
		text := strings.Join(strings.Fields(string(out)), " ")
		if err != nil || !strings.Contains(text, fmt.Sprintf("address space %d %d", space, space)) || !strings.Contains(text, "processes 1 1") {
			t.Errorf("%v, %s", err, out)
		}
	}
	for word, want := range map[string]string{"AS": "invalid limits", "AS=1:": "invalid limits", "PATIENCE=1:1": "PATIENCE", "CORE=0:0": "no-such-program"} {
		cmd := exec.Command(testBinary(t), contract.LimitFlag, word, "no-such-program")
		out, _ := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != statusNotRun || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, %s", word, cmd.ProcessState, out)
		}
	}
}

// Mode login reads what the user's login shell reads, and looks the command up in the PATH of that
// shell. It never overrides the job's own variables.
func TestLoginShell(t *testing.T) {
	for _, shell := range []string{"/bin/sh", "/bin/bash"} {
		t.Run(filepath.Base(shell), func(t *testing.T) {
			home := t.TempDir()
			write(t, filepath.Join(home, ".profile"), 0o600, "export FROM_PROFILE=yes CUDA_VISIBLE_DEVICES=7 ASKED=profile PATH=$HOME/bin:$PATH; umask 077; cd /\n")
			if err := os.Mkdir(filepath.Join(home, "bin"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(testBinary(t), filepath.Join(home, "bin", "tool")); err != nil {
				t.Fatal(err)
			}
			s := command(t, "tool", reportArg, "$HOME", "a b")
			s.EnvMode = contract.EnvLogin
			s.Env = []string{"ASKED=spec"}
			r := launch(t, "closed", s, func(cmd *exec.Cmd) {
				cmd.Env = append(cmd.Env, "HOME="+home, "SHELL="+shell)
			}).received(t)
			expect(t, texts(r.Env), map[string]string{
				"FROM_PROFILE": "yes", "CUDA_VISIBLE_DEVICES": "", "ASKED": "spec", "SHELL": shell, "HOME": home,
				"NOTIFY_SOCKET": "(unset)", "_": "(unset)", "SHLVL": "(unset)", "PWD": "(unset)", "http_proxy": "http://site",
			})
			if argv := strings.Join(texts(r.Argv), "|"); argv != "tool|"+reportArg+"|$HOME|a b" || string(r.Dir) != s.Dir {
				t.Errorf("argv %s in %s", argv, r.Dir)
			}
		})
	}
}

func write(t *testing.T, path string, mode os.FileMode, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// lockThread keeps the test on its thread, which ends with the test.
func lockThread(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
}

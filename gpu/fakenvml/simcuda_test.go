package fakenvml

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// A bench is a machine of simulated GPUs, with plain files as device nodes.
type bench struct {
	state   State
	dev     string
	program string
}

func newBench(t *testing.T, minors int) bench {
	t.Helper()
	dir := t.TempDir()
	program, err := BuildSimCUDA(dir)
	if err != nil {
		t.Fatal(err)
	}
	state, err := NewState(filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	b := bench{state: state, dev: filepath.Join(dir, "dev"), program: program}
	if err := os.Mkdir(b.dev, 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range minors {
		if err := os.WriteFile(filepath.Join(b.dev, fmt.Sprintf("nvidia%d", i)), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func (b bench) command(t *testing.T, visible string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), b.program, args...)
	cmd.Env = []string{b.state.Env(), "SIMCUDA_DEV=" + b.dev, "GPUSCHED_JOB_ID=17"}
	if visible != "unset" {
		cmd.Env = append(cmd.Env, "CUDA_VISIBLE_DEVICES="+visible)
	}
	return cmd
}

func (b bench) run(t *testing.T, visible string, args ...string) (code int, out string) {
	t.Helper()
	text, err := b.command(t, visible, args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit != nil {
		code = exit.ExitCode()
	}
	return code, string(text)
}

func (b bench) claims(t *testing.T) []string {
	t.Helper()
	files, err := os.ReadDir(filepath.Join(b.state.Dir, "claims"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}

func TestSimCUDASees(t *testing.T) {
	b := newBench(t, 3) // minor 3 of the four default GPUs has no node
	tests := []struct {
		name, visible string
		want          []string
	}{
		{"unset", "unset", []string{"cuda:0 nvidia0 ", "cuda:1 nvidia1 ", "cuda:2 nvidia2 ", "node nvidia3 ENOENT", "GPUSCHED_JOB_ID=17"}},
		{"empty", "", nil},
		{"chosen", "2,0", []string{"cuda:0 nvidia2 ", "cuda:1 nvidia0 "}},
		{"by uuid", "GPU-fa4e0000-0000-4000-8000-000000000001", []string{"cuda:0 nvidia1 "}},
		{"ends at the first that is none", "1,3,0", []string{"cuda:0 nvidia1 "}},
		{"none", "-1", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, out := b.run(t, tt.visible, "--print")
			if code != 0 {
				t.Errorf("exit %d: %s", code, out)
			}
			n := 0
			for _, w := range tt.want {
				if !strings.Contains(out, w) {
					t.Errorf("no %q in:\n%s", w, out)
				}
				n += strings.Count(w, "cuda:")
			}
			if got := strings.Count(out, "cuda:"); got != n {
				t.Errorf("%d visible, want %d:\n%s", got, n, out)
			}
		})
	}
}

// simcuda takes no memory if one of its GPUs has too little (invariant 4).
func TestSimCUDARunsOutOfMemory(t *testing.T) {
	b := newBench(t, 2)
	if err := b.state.SetGPUs("mem_mib=4096 reserved_mib=96 used_mib=1000", "mem_mib=8192"); err != nil {
		t.Fatal(err)
	}
	code, out := b.run(t, "0,1", "--mem", "3001M")
	if code != 1 || !strings.Contains(out, "CUDA out of memory. Tried to allocate 2.93 GiB. GPU 0") {
		t.Errorf("exit %d: %s", code, out)
	}
	if code, out := b.run(t, "0,1", "--mem", "3000M"); code != 0 {
		t.Errorf("free memory cannot be claimed: exit %d: %s", code, out)
	}
	if code, out := b.run(t, "", "--mem", "1M"); code != 1 || !strings.Contains(out, "No CUDA GPUs") {
		t.Errorf("memory without a GPU: exit %d: %s", code, out)
	}
	if left := b.claims(t); len(left) != 0 {
		t.Errorf("left behind %q", left)
	}
}

func TestSimCUDAHolds(t *testing.T) {
	b := newBench(t, 1)
	cmd := b.command(t, "0", "--mem", "2G", "--ignore-term", "--print", "--fork-bomb", "1", "--hold", "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	waitLine(t, out, "forked 1")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	waitClaim(t, b, cmd.Process.Pid)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("ended by %v, want SIGKILL: SIGTERM was to be ignored", err)
	}
	// Invariant 2: the claim of the killed process does not count, and is removed.
	if code, out := b.run(t, "0", "--mem", "79G"); code != 0 {
		t.Errorf("exit %d: %s", code, out)
	}
	if left := b.claims(t); len(left) != 0 {
		t.Errorf("left behind %q", left)
	}
}

// waitClaim waits until the process has made its claim.
func waitClaim(t *testing.T, b bench, pid int) {
	t.Helper()
	claim := strconv.Itoa(pid) + "-0"
	err := await.Until(t.Context(), "the claim "+claim, time.Minute, 5*time.Millisecond, func(context.Context) (string, bool, error) {
		claims := b.claims(t)
		return fmt.Sprint(claims), slices.Contains(claims, claim), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func waitLine(t *testing.T, out interface{ Read([]byte) (int, error) }, want string) string {
	t.Helper()
	var seen bytes.Buffer
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), want) {
			return lines.Text()
		}
		seen.WriteString(lines.Text() + "\n")
	}
	t.Fatalf("no line %q in:\n%s", want, seen.String())
	return ""
}

func TestSimCUDAOrphan(t *testing.T) {
	b := newBench(t, 1)
	cmd := b.command(t, "0", "--mem", "1G", "--orphan", "--exit", "3")
	read, write, err := os.Pipe() // not StdoutPipe, because the orphan keeps it open
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	cmd.Stdout = write
	err = cmd.Run()
	write.Close()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 3 {
		t.Fatalf("ended with %v, want exit 3", err)
	}
	pid, err := strconv.Atoi(strings.TrimPrefix(waitLine(t, read, "orphan pid "), "orphan pid "))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(pid, syscall.SIGKILL)
	if sid, _, _ := syscall.RawSyscall(syscall.SYS_GETSID, uintptr(pid), 0, 0); int(sid) == pid || int(sid) == 0 {
		t.Errorf("orphan %d is in session %d, want one of its dead parent", pid, sid)
	}
	if got, want := b.claims(t), []string{fmt.Sprintf("%d-0", pid)}; len(got) != 1 || got[0] != want[0] {
		t.Errorf("claims %q, want %q", got, want)
	}
}

func TestSimCUDAHostSide(t *testing.T) {
	b := newBench(t, 1)
	tests := []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--alloc-host", "8M"}, 0, "touched 8388608 bytes"},
		{[]string{"--exit", "42"}, 42, ""},
		{[]string{"--oom"}, 1, "CUDA out of memory. Tried to allocate 81.00 GiB"},
		{[]string{"--mem", "2X"}, 2, "bad size 2X"},
		{[]string{"--fork-bomb", "10001"}, 2, "at most 10000"},
		{[]string{"stray"}, 2, "bad argument stray"},
		{[]string{"--no-such"}, 2, "usage:"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			if code, out := b.run(t, "0", tt.args...); code != tt.code || !strings.Contains(out, tt.want) {
				t.Errorf("exit %d, want %d, with %q:\n%s", code, tt.code, tt.want, out)
			}
		})
	}
}

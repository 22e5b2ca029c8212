package main

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/gpu/fakenvml"
	"github.com/gpusched/gpusched/gpu/gputest"
	"github.com/gpusched/gpusched/gpu/source"
)

// Built by TestMain: the program as shipped, and the fake library.
var program, library string

func TestMain(m *testing.M) {
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "gpusched-nvml-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "gpusched-nvml")
	build := exec.Command("go", "build", "-ldflags", "-extldflags=-Wl,-z,lazy", "-o", program, ".")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building: %v\n%s", err, out)
		return 1
	}
	if library, err = fakenvml.Build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// machine is a fake driver with the GPUs of gputest.Machine.
type machine struct{ fakenvml.State }

func newMachine(t testing.TB) machine {
	t.Helper()
	state, err := fakenvml.NewState(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return machine{state}
}

// TestCUDA: the exit status and the output of --cuda report what CUDA says about a GPU.
func TestCUDA(t *testing.T) {
	dir, m := t.TempDir(), newMachine(t)
	if _, err := fakenvml.BuildCUDA(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "nvidia0"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		line, library string
		status        int
		says          string
		proof         gpu.Proof
		needs         gpu.Recovery
	}{
		{"", dir, 0, "the sums are right", gpu.ProofWell, gpu.RecoverNothing},
		{"cuda=803", dir, 3, "cuInit: 803 CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", gpu.ProofError, gpu.RecoverReboot},
		{"cuda=999", dir, 3, "cuInit: 999 CUDA_ERROR_UNKNOWN", gpu.ProofError, gpu.RecoverReset},
		{"cuda=100", dir, 3, "cuInit: 100 CUDA_ERROR_NO_DEVICE", gpu.ProofError, gpu.RecoverReset},
		{"cuda=2", dir, 3, "cuInit: 2 CUDA_ERROR_OUT_OF_MEMORY", gpu.ProofUnknown, gpu.RecoverNothing},
		{"cuda=46", dir, 3, "cuInit: 46 CUDA_ERROR_DEVICE_UNAVAILABLE", gpu.ProofUnknown, gpu.RecoverNothing},
		{"cuda=-1", dir, 4, "wrong sums: 2097152 + 152 is said to be 2097305", gpu.ProofWrongSums, gpu.RecoverReset},
		{"", "/none", 5, "libcuda.so.1: cannot open shared object file: No such file or directory", gpu.ProofNoLibrary, gpu.RecoverNothing},
	} {
		if err := m.State.SetGPUs(c.line); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), program, "--cuda")
		cmd.Env = []string{m.Env(), "SIMCUDA_DEV=" + dir, "LD_LIBRARY_PATH=" + c.library}
		out, _ := cmd.CombinedOutput()
		text := strings.TrimSpace(string(out))
		if got := cmd.ProcessState.ExitCode(); got != c.status || text != c.says {
			t.Errorf("%q: exit status %d, want %d, and %q, want %q", c.line, got, c.status, text, c.says)
		}
		if got := gpu.ProofOf(c.status, text); got != c.proof || got.Needs(text) != c.needs {
			t.Errorf("%q: %s, needs %q", c.line, got, got.Needs(text))
		}
	}
}

// TestCUDAHangs: if a call of CUDA does not return, the program does not end by itself.
func TestCUDAHangs(t *testing.T) {
	dir, m := t.TempDir(), newMachine(t)
	if _, err := fakenvml.BuildCUDA(dir); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "nvidia0"), nil, 0o600), m.State.SetGPUs("cuda=-2")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--cuda")
	cmd.Env = []string{m.Env(), "SIMCUDA_DEV=" + dir, "LD_LIBRARY_PATH=" + dir}
	if out, err := cmd.CombinedOutput(); ctx.Err() == nil {
		t.Errorf("it ended: %v %s", err, out)
	}
}

func (m machine) SetGPUs(n int) error {
	return m.State.SetGPUs(make([]string, n)...)
}

func (m machine) Claim(pid, minor int, bytes uint64) error {
	return m.State.Claim(pid, minor, bytes)
}

func (m machine) Lose(minor int, lost bool) error {
	lines := make([]string, 3)
	if lost {
		lines[minor] = "lost=1"
	}
	return m.State.SetGPUs(lines...)
}

func (m machine) open(timeout time.Duration, args ...string) *source.Source {
	return source.New(source.Options{
		Path: program, Args: append([]string{"--library", library}, args...), Env: []string{m.Env()}, Timeout: timeout,
		Log: slog.New(slog.DiscardHandler),
	})
}

func TestConforms(t *testing.T) {
	gputest.RunScripted(t, func(t *testing.T) (gputest.Source, gputest.Machine) {
		m := newMachine(t)
		return m.open(0), m
	})
}

func TestAGPUThatHangsLeavesTheOthers(t *testing.T) {
	m := newMachine(t)
	s := m.open(0, "--device-timeout", "2s")
	defer s.Close()
	if err := m.State.SetGPUs("", "hang=1"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		snapshot, err := s.Sample(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d := snapshot.Devices; len(d) != 2 || d[0].Health != gpu.HealthOK || d[1].Health != gpu.HealthError {
			t.Errorf("devices %+v", d)
		}
	}
}

// If the whole driver hangs, the daemon does not block. It notices when the driver recovers.
func TestADriverThatHangs(t *testing.T) {
	m := newMachine(t)
	s := m.open(300 * time.Millisecond)
	defer s.Close()
	if err := m.SetInit("hang"); err != nil {
		t.Fatal(err)
	}
	snapshot, err := s.Sample(t.Context())
	if !errors.Is(err, source.ErrNoAnswer) || snapshot.Problem != gpu.ProblemStale {
		t.Errorf("got %+v, %v", snapshot, err)
	}
	if err := m.SetInit("0"); err != nil {
		t.Fatal(err)
	}
	wantDevices(t, s, 4)
}

func wantDevices(t *testing.T, s *source.Source, n int) {
	t.Helper()
	snapshot, err := s.Sample(t.Context())
	for errors.Is(err, source.ErrNoAnswer) { // on a busy machine the child may get no processor time before the limit
		snapshot, err = s.Sample(t.Context())
	}
	if err != nil || snapshot.Problem != gpu.ProblemNone || len(snapshot.Devices) != n {
		t.Errorf("problem %q (%s), %d devices, %v; want %d devices", snapshot.Problem, snapshot.Detail, len(snapshot.Devices), err, n)
	}
}

// Each time the driver refuses a call, the child ends. The next call of Sample starts a new child
// without a delay.
func TestADriverThatComesAndGoes(t *testing.T) {
	m := newMachine(t)
	s := m.open(0)
	defer s.Close()
	for _, step := range []struct {
		init    string
		problem gpu.Problem
	}{{"9", gpu.ProblemDriverMissing}, {"18", gpu.ProblemInitFailed}, {"9", gpu.ProblemDriverMissing}} {
		if err := m.SetInit(step.init); err != nil {
			t.Fatal(err)
		}
		snapshot, err := s.Sample(t.Context())
		if err != nil || snapshot.Problem != step.problem || snapshot.Problem.Sentence() == "" {
			t.Errorf("init %s: problem %q, %v", step.init, snapshot.Problem, err)
		}
	}
	if err := m.SetInit("0"); err != nil {
		t.Fatal(err)
	}
	wantDevices(t, s, 4)
}

func TestADriverThatCrashesUs(t *testing.T) {
	m := newMachine(t)
	s := m.open(0)
	defer s.Close()
	if err := m.SetInit("crash"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sample(t.Context()); err == nil || !strings.Contains(err.Error(), "it ended (") {
		t.Errorf("error %v", err)
	}
	if err := m.SetInit("0"); err != nil {
		t.Fatal(err)
	}
	wantDevices(t, s, 4)
}

// The program starts without the library because it binds the library's functions lazily.
func TestBindsLazily(t *testing.T) {
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for tag, now := range map[elf.DynTag]uint64{elf.DT_FLAGS: uint64(elf.DF_BIND_NOW), elf.DT_FLAGS_1: uint64(elf.DF_1_NOW)} {
		values, err := f.DynValue(tag)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			if v&now != 0 {
				t.Errorf("%s has the flag for binding at once", tag)
			}
		}
	}
	if values, err := f.DynValue(elf.DT_BIND_NOW); err != nil || len(values) > 0 {
		t.Errorf("DT_BIND_NOW %v, %v", values, err)
	}
}

func TestCommandLine(t *testing.T) {
	m := newMachine(t)
	tests := []struct {
		name      string
		args      []string
		code      int
		out, talk string
	}{
		{"census", []string{"--library", library, "--census"}, 0, "nvmlInit_v2", ""},
		{"serve nothing", []string{"--library", library}, 0, "", ""},
		{"census without a library", []string{"--library", "/no/such", "--census"}, 1, "", "/no/such"},
		{"help", []string{"--help"}, 0, "", "-library"},
		{"unknown flag", []string{"--frob"}, 2, "", "-frob"},
		{"stray argument", []string{"now"}, 2, "", "takes no arguments"},
		{"stray process", []string{"--census", "12:34"}, 2, "", "takes no arguments"},
		{"park nothing", []string{"--park"}, 2, "", "takes no arguments"},
		{"park no process", []string{"--unpark", "12:34", "12"}, 2, "", "takes no arguments"},
		{"park to another GPU", []string{"--park", "12:34", "GPU-00000000-0000-0000-0000-000000000000=GPU-00000000-0000-0000-0000-000000000001"}, 2, "", "takes no arguments"},
		{"unpark to no GPU", []string{"--unpark", "12:34", "GPU-00000000-0000-0000-0000-000000000000=GPU-1"}, 1, "must be OLD=NEW, the UUIDs of two GPUs", ""},
		{"both", []string{"--count", "--census"}, 2, "", "at most one of these, --count"},
		{"negative time", []string{"--device-timeout", "-1s"}, 2, "", "no negative time"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out, talk bytes.Buffer
			cmd := exec.CommandContext(t.Context(), program, tt.args...)
			cmd.Env, cmd.Stdout, cmd.Stderr = []string{m.Env()}, &out, &talk
			var exit *exec.ExitError
			if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if code := cmd.ProcessState.ExitCode(); code != tt.code {
				t.Errorf("exit %d, want %d", code, tt.code)
			}
			if !strings.Contains(out.String(), tt.out) || (tt.out == "") != (out.Len() == 0) {
				t.Errorf("prints %q, want %q", out.String(), tt.out)
			}
			if !strings.Contains(talk.String(), tt.talk) || (tt.talk == "") != (talk.Len() == 0) {
				t.Errorf("says %q, want %q", talk.String(), tt.talk)
			}
		})
	}
}

// BenchmarkRoundTrip measures a request to the child and its answer, with four GPUs and a process
// on each GPU. A GPU that becomes free is idle for this time before its next job starts.
func BenchmarkRoundTrip(b *testing.B) {
	m := newMachine(b)
	s := m.open(0)
	defer s.Close()
	for minor := range 4 {
		if err := m.Claim(os.Getpid(), minor, 1<<30); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := s.Sample(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFirstSample measures the same request, but the child must first be started.
func BenchmarkFirstSample(b *testing.B) {
	m := newMachine(b)
	for b.Loop() {
		s := m.open(0)
		if _, err := s.Sample(context.Background()); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

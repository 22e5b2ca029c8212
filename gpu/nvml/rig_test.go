package nvml_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/gpu/fakenvml"
	"github.com/gpusched/gpusched/gpu/nvml"
)

// A process loads only one library (invariant 3), so every test needs another process. That process
// runs this test binary too, and serves like gpusched-nvml.
const (
	variableLibrary  = "NVML_TEST_LIBRARY"
	variableTimeout  = "NVML_TEST_TIMEOUT"
	variableRenew    = "NVML_TEST_RENEW"
	variableTopology = "NVML_TEST_TOPOLOGY"
	variableSys      = "NVML_TEST_SYS"
	variableProc     = "NVML_TEST_PROC"
	variableStay     = "NVML_TEST_STAY" // continue where gpusched-nvml would end
)

func TestMain(m *testing.M) {
	if path := os.Getenv(variableLibrary); path != "" {
		os.Exit(serve(path))
	}
	os.Exit(runTests(m))
}

// builtLibrary is the fake library that the rigs copy. TestMain sets it.
var builtLibrary string

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "nvml-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if builtLibrary, err = fakenvml.Build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func serve(path string) int {
	timeout, _ := time.ParseDuration(os.Getenv(variableTimeout))
	renew, _ := time.ParseDuration(os.Getenv(variableRenew))
	topology, _ := time.ParseDuration(os.Getenv(variableTopology))
	lib := nvml.Open(nvml.Options{Path: path, DeviceTimeout: timeout, RenewEvery: renew, TopologyEvery: topology, SysRoot: os.Getenv(variableSys), ProcRoot: os.Getenv(variableProc)})
	var r nvml.Reader = lib
	if os.Getenv(variableStay) != "" {
		r = stays{lib}
	}
	if err := nvml.Serve(os.Stdin, os.Stdout, os.Stderr, r); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	lib.Close()
	return 0
}

type stays struct{ *nvml.Library }

func (stays) NeedsRestart() bool { return false }

// A rig is a copy of the fake library, its state directory, and a process that serves the library.
type rig struct {
	t     *testing.T
	lib   string
	state fakenvml.State
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	seq   uint64
}

// newRig makes a library and a state directory, and starts nothing.
func newRig(t *testing.T) *rig {
	t.Helper()
	dir := t.TempDir()
	lib := filepath.Join(dir, fakenvml.LibraryName)
	text, err := os.ReadFile(builtLibrary)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(lib, text, 0o755); err != nil {
		t.Fatal(err)
	}
	state, err := fakenvml.NewState(filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t: t, lib: lib, state: state}
}

func (r *rig) start(settings ...string) *rig {
	r.t.Helper()
	r.cmd = exec.Command(os.Args[0])
	r.cmd.Env = append(os.Environ(), variableLibrary+"="+r.lib, r.state.Env())
	r.cmd.Env = append(r.cmd.Env, settings...)
	r.cmd.Stderr = os.Stderr
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		r.t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.out = bufio.NewReader(out)
	r.t.Cleanup(r.stop)
	return r
}

func (r *rig) stop() {
	if r.cmd != nil {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
		r.cmd = nil
	}
}

func (r *rig) sample() gpu.Snapshot { return r.ask(gpu.OpSample) }

func (r *rig) look() gpu.Snapshot { return r.ask(gpu.OpLook) }

func (r *rig) ask(op string) gpu.Snapshot {
	r.t.Helper()
	r.seq++
	if _, err := fmt.Fprintf(r.in, "{\"op\":%q,\"seq\":%d}\n", op, r.seq); err != nil {
		r.t.Fatal(err)
	}
	line, err := r.out.ReadBytes('\n')
	if err != nil {
		r.t.Fatalf("no answer: %v, the process ended with %v", err, r.cmd.Wait())
	}
	s, err := gpu.Decode(line)
	if err != nil {
		r.t.Fatal(err)
	}
	if s.Seq != r.seq {
		r.t.Errorf("seq %d, want %d", s.Seq, r.seq)
	}
	return s
}

func (r *rig) gpus(lines ...string) *rig {
	r.t.Helper()
	if err := r.state.SetGPUs(lines...); err != nil {
		r.t.Fatal(err)
	}
	return r
}

func (r *rig) init(answer string) {
	r.t.Helper()
	if err := r.state.SetInit(answer); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) claim(pid, minor int, bytes uint64, words ...string) {
	r.t.Helper()
	if err := r.state.Claim(pid, minor, bytes, words...); err != nil {
		r.t.Fatal(err)
	}
}

// hide renames functions inside the library, so that they are not found.
func (r *rig) hide(names ...string) *rig {
	r.t.Helper()
	text, err := os.ReadFile(r.lib)
	if err != nil {
		r.t.Fatal(err)
	}
	lib := string(text)
	for _, n := range names {
		if !strings.Contains(lib, "\x00"+n+"\x00") {
			r.t.Fatalf("the library has no %s", n)
		}
		lib = strings.ReplaceAll(lib, "\x00"+n+"\x00", "\x00X"+n[1:]+"\x00")
	}
	r.lib = filepath.Join(r.t.TempDir(), fakenvml.LibraryName)
	if err := os.WriteFile(r.lib, []byte(lib), 0o755); err != nil {
		r.t.Fatal(err)
	}
	return r
}

// wellDevices returns the devices of a Snapshot without a Problem.
func wellDevices(t *testing.T, s gpu.Snapshot, n int) []gpu.Device {
	t.Helper()
	if s.Problem != gpu.ProblemNone || len(s.Devices) != n {
		t.Fatalf("problem %q (%s), %d devices; want %d devices", s.Problem, s.Detail, len(s.Devices), n)
	}
	return s.Devices
}

func wantHealth(t *testing.T, d gpu.Device, h gpu.Health, detail string) {
	t.Helper()
	if d.Health != h || !strings.Contains(d.HealthDetail, detail) || (detail == "") != (d.HealthDetail == "") {
		t.Errorf("GPU %d is %s: %q, want %s: %q", d.Index, d.Health, d.HealthDetail, h, detail)
	}
}

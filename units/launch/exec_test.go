package launch

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// roleEnv makes the test binary a launcher. Its value names the set of device nodes that the
// launcher finds (see worlds).
const roleEnv = "GPUSCHED_LAUNCH_ROLE"

// If reportArg is the first argument, the test binary is a command that reports what it got.
const reportArg = "report-what-arrived"

func TestMain(m *testing.M) {
	world, launcher := worlds()[os.Getenv(roleEnv)]
	switch {
	case len(os.Args) > 1 && (os.Args[1] == reportArg || os.Args[1] == contract.HoldFlag || os.Args[1] == contract.AimedFlag):
		report()
	case len(os.Args) > 3 && os.Args[1] == contract.EngineFlag:
		_, err := execute(os.Args[3:], os.Environ(), replace)
		panic(err)
	case len(os.Args) > 3 && os.Args[1] == contract.LimitFlag:
		os.Exit(Limited(os.Args[2], os.Args[3:], os.Environ()))
	case len(os.Args) == 2 && os.Args[1] == contract.LogFlag:
		os.Exit(start(os.Args, nil, systemNodes()))
	case launcher:
		os.Exit(start(os.Args, os.Environ(), world))
	default:
		os.Exit(m.Run())
	}
}

// worlds returns the sets of device nodes that a launcher may find, by name.
func worlds() map[string]nodes {
	return map[string]nodes{
		"real":     systemNodes(),
		"closed":   fakeNodes(map[string]error{probe: unix.EPERM, "/dev/nvidiactl": unix.EPERM, "/dev/nvidia0": unix.EPERM}),
		"filtered": fakeNodes(map[string]error{probe: unix.EPERM, "/dev/nvidiactl": nil, "/dev/nvidia3": nil, "/dev/nvidia0": unix.EPERM}),
		"exposed":  fakeNodes(map[string]error{probe: unix.ENXIO, "/dev/nvidiactl": nil, "/dev/nvidia3": nil, "/dev/nvidia0": nil}),
	}
}

// commandInput is what a command got.
type commandInput struct {
	Argv [][]byte
	Env  [][]byte
	Dir  []byte
	PID  int
}

func report() {
	r := commandInput{PID: os.Getpid()}
	for _, a := range os.Args {
		r.Argv = append(r.Argv, []byte(a))
	}
	for _, kv := range os.Environ() {
		r.Env = append(r.Env, []byte(kv))
	}
	dir, err := os.Readlink("/proc/self/cwd")
	r.Dir = []byte(dir)
	if err = errors.Join(err, json.NewEncoder(os.Stdout).Encode(r)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// An outcome is the outcome of one launch.
type outcome struct {
	pid            int
	status         int
	stdout, stderr string
	notes          []string // messages to the service manager
}

func (l outcome) received(t *testing.T) commandInput {
	t.Helper()
	var r commandInput
	if err := json.Unmarshal([]byte(l.stdout), &r); err != nil {
		t.Fatalf("%v in %q, %q", err, l.stdout, l.stderr)
	}
	return r
}

// launch runs the launcher like a unit does: by its absolute path, with the path of the spec, the
// unit's environment and a notification socket.
func launch(t *testing.T, world string, s *Spec, before ...func(*exec.Cmd)) outcome {
	t.Helper()
	return launchPath(t, world, mustWrite(t, specDir(t), 42, s), before...)
}

func launchPath(t *testing.T, world, path string, before ...func(*exec.Cmd)) outcome {
	t.Helper()
	name := fmt.Sprintf("@gpusched-launch-test-%d-%p", os.Getpid(), t)
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cmd := exec.Command(testBinary(t), path)
	cmd.Env = append(slices.Clone(unitBase), "NOTIFY_SOCKET="+name, roleEnv+"="+world)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	for _, f := range before {
		f(cmd)
	}
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	l := outcome{pid: cmd.Process.Pid, status: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
	l.notes = drain(t, conn)
	return l
}

// drain reads the messages in the socket, after the sender has ended.
func drain(t *testing.T, conn *net.UnixConn) (notes []string) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4096)
	err = raw.Read(func(fd uintptr) bool {
		for {
			n, err := unix.Read(int(fd), b)
			if err != nil {
				return true
			}
			notes = append(notes, string(b[:n]))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return notes
}

func testBinary(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// reporter returns a spec with a command that reports what it got.
func reporter(t *testing.T, args ...string) *Spec {
	return command(t, append([]string{testBinary(t), reportArg}, args...)...)
}

func command(t *testing.T, argv ...string) *Spec {
	return &Spec{JobID: 42, Attempt: 1, Program: contract.Program{Argv: argv, EnvMode: contract.EnvClean, Dir: t.TempDir(), Umask: 0o22}, ProbePath: probe, RequireFilter: true}
}

func texts(list [][]byte) []string {
	var l []string
	for _, b := range list {
		l = append(l, string(b))
	}
	return l
}

// Arguments, environment and directory arrive byte for byte, in the same process (invariant 1), in
// every mode.
func TestEverythingArrives(t *testing.T) {
	for _, mode := range []contract.EnvMode{contract.EnvInherit, contract.EnvClean, contract.EnvLogin} {
		t.Run(string(mode), func(t *testing.T) {
			s := reporter(t, hardArguments()...)
			s.EnvMode = mode
			s.Dir = filepath.Join(s.Dir, "d\xff $HOME\n")
			if err := os.Mkdir(s.Dir, 0o700); err != nil {
				t.Fatal(err)
			}
			s.Env = []string{"BIN=\xff\xfe$HOME%n\n", "EMPTY=", "LONG=" + strings.Repeat("y", 100<<10)}
			l := launch(t, "real", s)
			r := l.received(t)
			if argv := texts(r.Argv); !slices.Equal(argv, s.Argv) {
				t.Errorf("argv %q", argv)
			}
			expect(t, texts(r.Env), map[string]string{
				"BIN": "\xff\xfe$HOME%n\n", "EMPTY": "", "LONG": strings.Repeat("y", 100<<10),
				"NOTIFY_SOCKET": "(unset)", "INVOCATION_ID": "unit", "GPUSCHED_JOB_ID": "42", "CUDA_VISIBLE_DEVICES": "",
			})
			if string(r.Dir) != s.Dir || r.PID != l.pid {
				t.Errorf("directory %q, process %d became %d", r.Dir, l.pid, r.PID)
			}
		})
	}
}

// lastWord is the only message that a launcher sends if nothing fails.
const lastWord = "STATUS=" + contract.StatusBegun + "\n" + silence

// Without the filter, the command runs only if the spec allows that. The service manager learns
// that there is no filter (invariants 3 and 6).
func TestFilterDecidesNaming(t *testing.T) {
	for _, c := range []struct {
		world    string
		mode     contract.EnvMode
		required bool
		visible  string // "": the command does not run
		notes    []string
	}{
		{"filtered", contract.EnvClean, true, "0", []string{lastWord}},
		{"filtered", contract.EnvLogin, true, "0", []string{"STATUS=" + contract.StatusLogin, lastWord}},
		{"filtered", contract.EnvClean, false, "0", []string{lastWord}},
		{"exposed", contract.EnvInherit, false, "6", []string{"STATUS=" + contract.StatusUnfiltered, silence}},
		{"exposed", contract.EnvLogin, false, "6", []string{"STATUS=" + contract.StatusLogin, "STATUS=" + contract.StatusUnfiltered, silence}},
		{"exposed", contract.EnvClean, true, "", []string{"STATUS=" + contract.StatusPrefix + "filter"}},
	} {
		t.Run(c.world+" "+string(c.mode), func(t *testing.T) {
			s := reporter(t)
			s.EnvMode, s.RequireFilter = c.mode, c.required
			s.GPUs = []contract.GPU{{Index: 6, Minor: 3, UUID: "GPU-a"}}
			l := launch(t, c.world, s)
			if !slices.Equal(l.notes, c.notes) {
				t.Errorf("notes %q", l.notes)
			}
			if c.visible == "" {
				if l.status != 226 || l.stdout != "" {
					t.Errorf("status %d, %q", l.status, l.stdout)
				}
				return
			}
			expect(t, texts(l.received(t).Env), map[string]string{"CUDA_VISIBLE_DEVICES": c.visible, "GPUSCHED_GPU_IDS": "6"})
		})
	}
}

// A check starts no command and reports no error, whatever is wrong.
func TestCheck(t *testing.T) {
	s := reporter(t)
	s.Dir = filepath.Join(s.Dir, "missing")
	for world, path := range map[string]string{"closed": mustWrite(t, specDir(t), 42, reporter(t)), "exposed": mustWrite(t, specDir(t), 42, s), "real": "/no/spec"} {
		l := launchPath(t, world, path, func(cmd *exec.Cmd) { cmd.Args = []string{cmd.Args[0], contract.CheckFlag, path} })
		if l.status != 0 || l.stdout != "" || l.stderr != "" || len(l.notes) != 0 {
			t.Errorf("%s: %+v", world, l)
		}
	}
}

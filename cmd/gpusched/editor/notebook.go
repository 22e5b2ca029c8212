package editor

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/daemon/api"
)

// NotebookCommand is a hidden command. The jobs that 'gpusched jupyter' queues run it. notebookArgv
// returns it with its arguments.
const NotebookCommand = "keep-notebook"

// loopback is the address of the server. Other users of the machine can connect to it as well.
const loopback = "127.0.0.1"

// An address is what a user must know to open a notebook. It is in a file that only this user can
// read.
type address struct {
	Port  int
	Asked int // the port that the user asked for; 0: none
	Token string
}

// notebookArgv returns the command of a job that 'gpusched jupyter' queues. The argument dir is the
// directory of the file with the address.
func notebookArgv(self string, idle time.Duration, port int, dir string, programs, args []string) []string {
	own := []string{self, NotebookCommand, idle.String(), strconv.Itoa(port), dir, strings.Join(programs, ",")}
	return append(own, args...)
}

// addressFile returns the path of the file with the address of a job's server. It returns "" if the
// job is no notebook.
func addressFile(j api.Job) string {
	if j.Private == nil || len(j.Private.Argv) < 6 || j.Private.Argv[1] != NotebookCommand {
		return ""
	}
	return addressIn(string(j.Private.Argv[4]), j.ID.String())
}

func addressIn(dir, id string) string {
	machine, _ := os.Hostname() // several machines may share the directory
	return filepath.Join(dir, machine+"-"+id)
}

// readAddress returns the address of a server that this user runs. A server of another user is
// never named, since the token would reach it.
func readAddress(path string, uid int) (at address, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &at) != nil {
		return at, false
	}
	return at, slices.Equal(ownersOf(at.Port, stateListen), []int{uid})
}

// Notebook runs Jupyter for one user until the job has been unused for long enough, or until
// Jupyter ends.
func Notebook(ctx context.Context, a *cli.App, args []string) error {
	if len(args) < 4 {
		return cli.Usagef("%s takes four words and more", NotebookCommand)
	}
	idle, err := idleTime(args[0])
	if err != nil {
		return err
	}
	asked, err := strconv.Atoi(args[1])
	if err != nil {
		return cli.Usagef("%q is not a port", args[1])
	}
	program := ""
	for name := range strings.SplitSeq(args[3], ",") {
		if path, err := exec.LookPath(name); err == nil && program == "" {
			program = path
		}
	}
	if program == "" {
		return cli.Refuse(api.CodeConflict, "install it in the environment, or name another with --conda or --venv",
			"there is no program %q in the job's PATH", args[3])
	}
	held, port, err := holdPort(asked)
	if err != nil {
		return err
	}
	n := &notebook{
		a: a, at: address{port, asked, rand.Text()}, file: addressIn(args[2], a.Getenv("GPUSCHED_JOB_ID")),
		held: held, group: ownGroup(),
	}
	return n.run(ctx, idle, program, args[4:])
}

// holdPort reserves a port of the loopback interface, or any free port if the argument is 0. While
// the returned file is open and nobody listens on the port, no other program gets the port by
// chance.
func holdPort(port int) (held *os.File, got int, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, 0, err
	}
	held = os.NewFile(uintptr(fd), "port")
	if err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		var own unix.Sockaddr
		if own, err = unix.Getsockname(fd); err == nil {
			return held, own.(*unix.SockaddrInet4).Port, nil
		}
	}
	held.Close()
	return nil, 0, cli.Refuse(api.CodeConflict, "leave --port out, and a free port is found", "port %d can't be used here: %v", port, err)
}

// A notebook is a server of Jupyter.
type notebook struct {
	a     *cli.App
	at    address
	file  string
	held  *os.File // the port, until the server listens there
	group string   // the job's control group
}

// stopTime is how long the server may take to end by itself.
const stopTime = 10 * time.Second

// run runs the server. The token is in its environment, which other users can't read.
func (n *notebook) run(ctx context.Context, idle time.Duration, program string, args []string) error {
	serving, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(serving, program, append(slices.Clone(args),
		"--no-browser", "--ip="+loopback, "--port="+strconv.Itoa(n.at.Port), "--port-retries=0")...)
	cmd.Env = append(slices.Clone(n.a.Environ), "JUPYTER_TOKEN="+n.at.Token)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = os.Stdout, os.Stderr, stopTime
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start Jupyter: %w", err)
	}
	defer os.Remove(n.file)
	unused := make(chan error, 1)
	go func() {
		unused <- n.keep(serving, idle)
		stop()
	}()
	err := cmd.Wait()
	select {
	case why := <-unused:
		return why
	default:
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return cli.ExitStatus(max(exit.ExitCode(), 1))
	}
	return err
}

// keep writes the address of the server as soon as the server answers. It returns when the job must
// end.
func (n *notebook) keep(ctx context.Context, idle time.Duration) error {
	for !slices.Equal(ownersOf(n.at.Port, stateListen), []int{n.a.UID}) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookAtServer / 2):
		}
	}
	n.held.Close()
	status, _, err := n.ask(ctx, "")
	for err != nil && ctx.Err() == nil {
		time.Sleep(lookAtServer / 2)
		status, _, err = n.ask(ctx, "")
	}
	if status == http.StatusOK {
		return cli.Refuse(api.CodeConflict, "the settings in ~/.jupyter turn the token off: remove what they say of a token or password",
			"Jupyter lets everybody on this machine in, so the job ends")
	}
	text, err := json.Marshal(n.at)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(n.file), 0o700)
	}
	if err == nil {
		err = jobenv.ReplaceFile(n.file, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the address of the notebook: %w", err)
	}
	p := &presence{come: idle, idle: idle, since: time.Now()}
	if err := p.last(ctx, n.a, n.group, func() bool { return n.inUse(ctx) || connected(n.group) }); err != nil {
		return err
	}
	n.a.Out.Printf("gpusched: %s\n", p.why())
	n.a.Out.W.Flush()
	return nil
}

// inUse reports whether somebody is connected, or a kernel computes.
func (n *notebook) inUse(ctx context.Context) bool {
	if len(ownersOf(n.at.Port, stateEstablished)) > 0 {
		return true
	}
	_, text, _ := n.ask(ctx, n.at.Token)
	var kernels []kernel
	_ = json.Unmarshal(text, &kernels) // without a list of kernels, none counts as computing
	return slices.ContainsFunc(kernels, func(k kernel) bool { return k.State == "busy" })
}

type kernel struct {
	State string `json:"execution_state"`
}

// ask asks the server for its kernels.
func (n *notebook) ask(ctx context.Context, token string) (status int, text []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s:%d/api/kernels", loopback, n.at.Port), nil)
	if err != nil {
		return 0, nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "token "+token)
	}
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req) // without a proxy or a redirection
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	text, err = io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	return answer.StatusCode, text, err
}

// States of sockets in /proc/net/tcp.
const (
	stateEstablished = "01"
	stateListen      = "0A"
)

// ownersOf returns the users of the sockets that have this port of the loopback interface and this
// state.
func ownersOf(port int, state string) (uids []int) {
	text, _ := os.ReadFile("/proc/net/tcp")
	return ownersIn(string(text), port, state)
}

func ownersIn(text string, port int, state string) (uids []int) {
	local := fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32([]byte{127, 0, 0, 1}), port)
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 8 || f[1] != local || f[3] != state {
			continue
		}
		if uid, err := strconv.Atoi(f[7]); err == nil {
			uids = append(uids, uid)
		}
	}
	return uids
}

package editor

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
)

// TestMain lets the test program run as a server that imitates Jupyter.
func TestMain(m *testing.M) {
	if mode := os.Getenv("TEST_JUPYTER"); mode != "" {
		fmt.Fprintln(os.Stderr, serveAsJupyter(mode))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// serveAsJupyter serves the kernels to clients that have the token. In the mode "open", it serves
// them to all clients.
func serveAsJupyter(mode string) error {
	flags := flag.NewFlagSet("jupyter-lab", flag.ExitOnError)
	flags.Bool("no-browser", false, "")
	ip, port := flags.String("ip", "", ""), flags.String("port", "", "")
	flags.String("port-retries", "", "")
	_ = flags.Parse(os.Args[1:])
	return http.ListenAndServe(net.JoinHostPort(*ip, *port), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if mode != "open" && r.Header.Get("Authorization") != "token "+os.Getenv("JUPYTER_TOKEN") {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprintf(w, `[{"execution_state": "idle"}, {"execution_state": %q}]`, mode)
	}))
}

// noGPUs is a scheduler that knows no GPUs of a job.
type noGPUs struct{ api.Engine }

func (noGPUs) Get(context.Context, *api.Route, string, any, any) error { return nil }

// startNotebook runs a notebook whose server has the given mode. The notebook ends after a second
// without use, but not before its control group has a list of processes. The returned channel gets
// the result of run.
func startNotebook(t *testing.T, mode string) (n *notebook, out *bytes.Buffer, end <-chan error) {
	t.Helper()
	held, port, err := holdPort(0)
	if err != nil {
		t.Fatal(err)
	}
	out = new(bytes.Buffer)
	dir := t.TempDir()
	a := &cli.App{Env: cli.Env{UID: os.Getuid(), Environ: append(os.Environ(), "TEST_JUPYTER="+mode), Getenv: os.Getenv}}
	a.Out = term.New(os.Stdout, os.Getenv, time.Now())
	a.Out.W.Reset(out)
	a.Client = noGPUs{}
	n = &notebook{a: a, at: address{Port: port, Token: "secret" + mode}, file: filepath.Join(dir, "jupyter", "m-1"), held: held, group: dir}
	ctx, stop := context.WithCancel(context.Background())
	over, done := make(chan error, 1), make(chan struct{})
	go func() {
		over <- n.run(ctx, time.Second, os.Args[0], nil)
		close(done)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return n, out, over
}

// Only the user finds the address of a notebook, and only while the user's own server listens there
// (invariant 5). The token is on no command line. When the server has been unused for long enough,
// it ends, and the address is gone.
func TestNotebook(t *testing.T) {
	n, out, end := startNotebook(t, "idle")
	var at address
	for ok := false; !ok; at, ok = readAddress(n.file, os.Getuid()) {
		time.Sleep(10 * time.Millisecond)
	}
	if at != n.at {
		t.Errorf("%+v, not %+v", at, n.at)
	}
	if _, ok := readAddress(n.file, os.Getuid()+1); ok {
		t.Error("the server of another user is named")
	}
	for path, mode := range map[string]os.FileMode{n.file: 0o600, filepath.Dir(n.file): os.ModeDir | 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode() != mode {
			t.Error(path, info.Mode(), err)
		}
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		if text, _ := os.ReadFile(path); bytes.Contains(text, []byte(n.at.Token)) {
			t.Errorf("%s: %q", path, text)
		}
	}
	if n.inUse(t.Context()) {
		t.Error("it is in use")
	}
	open, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", at.Port))
	if err != nil {
		t.Fatal(err)
	}
	if !n.inUse(t.Context()) {
		t.Error("a connection does not count")
	}
	open.Close()
	if err := os.WriteFile(filepath.Join(n.group, "cgroup.procs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-end; err != nil || !strings.Contains(out.String(), "so the job ends") {
		t.Errorf("%v, %s", err, out)
	}
	if _, err := os.Stat(n.file); !os.IsNotExist(err) {
		t.Error("the address stays:", err)
	}
	if list := ownersOf(at.Port, stateListen); len(list) > 0 {
		t.Errorf("a server of %d stays", list)
	}
}

// A kernel that computes keeps a notebook in use. A server that needs no token ends at once.
func TestNotebookInUse(t *testing.T) {
	n, _, _ := startNotebook(t, "busy")
	for ok := false; !ok; _, ok = readAddress(n.file, os.Getuid()) {
		time.Sleep(10 * time.Millisecond)
	}
	if !n.inUse(t.Context()) {
		t.Error("a kernel computes, and it is not in use")
	}
	n, _, end := startNotebook(t, "open")
	if err := <-end; err == nil || !strings.Contains(err.Error(), "lets everybody on this machine in") {
		t.Error(err)
	}
	if _, err := os.Stat(n.file); err == nil {
		t.Error("it has told its address")
	}
}

// A port that is held is given to no other program. A port that is in use is refused.
func TestHoldPort(t *testing.T) {
	held, port, err := holdPort(0)
	if err != nil || freePort(port) != nil {
		t.Fatal(port, err)
	}
	defer held.Close()
	l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal("the server can't listen:", err)
	}
	defer l.Close()
	if _, _, err := holdPort(port); err == nil {
		t.Error("a second program holds the port")
	}
	if freePort(port) == nil || freePort(-1) == nil || freePort(1<<16) == nil || freePort(0) != nil {
		t.Error("the wrong ports are free")
	}
}

func TestOwnersIn(t *testing.T) {
	const text = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1001        0 1 1 0 100 0 0 10 0
   1: 0200007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1002        0 2 1 0 100 0 0 10 0
   2: 0100007F:1F90 0100007F:C350 01 00000000:00000000 00:00000000 00000000  1001        0 3 1 0 20 4 0 10 -1
   3: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1002        0 4 1 0 20 4 0 10 -1
`
	if list := ownersIn(text, 8080, stateListen); !slices.Equal(list, []int{1001}) {
		t.Error(list)
	}
	if list := ownersIn(text, 8080, stateEstablished); !slices.Equal(list, []int{1001}) {
		t.Error(list)
	}
	if list := ownersIn(text, 8081, stateListen); len(list) > 0 {
		t.Error(list)
	}
}

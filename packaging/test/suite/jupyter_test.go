//go:build machine

package suite

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// jupyterStandIn is a program that takes the options of Jupyter and listens where they say. It
// refuses requests without the token from its environment. It answers a request for /group with its
// control group, and a request for /stay not at all. It answers every other request with a list of
// one kernel, which is busy if the file ~/busy exists.
const jupyterStandIn = `
import os, socket, sys
port = int([a for a in sys.argv if a.startswith("--port=")][0][7:])
if "--no-browser" not in sys.argv or "--ip=127.0.0.1" not in sys.argv: sys.exit("wrong options")
s = socket.create_server(("127.0.0.1", port))
token = os.environ["JUPYTER_TOKEN"]
while True:
    c = s.accept()[0]
    if os.fork(): c.close(); continue
    asked = c.recv(10000).decode()
    if token not in asked and not os.path.exists(os.path.expanduser("~/open")):
        c.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"); os._exit(0)
    if "/stay" in asked: c.recv(1); os._exit(0)
    text = '[{"execution_state": "%s"}]' % ("busy" if os.path.exists(os.path.expanduser("~/busy")) else "idle")
    if "/group" in asked: text = open("/proc/self/cgroup").read()
    c.sendall(("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text)).encode()); os._exit(0)
`

// jupyterFor installs jupyterStandIn as jupyter-lab in a directory of the user's. It returns the
// beginning of a command line of 'gpusched jupyter' that finds it there.
func jupyterFor(t *testing.T, user string) string {
	t.Helper()
	sh(t, user, "mkdir -p ~/lab; (echo '#!/usr/bin/python3'; cat) >~/lab/jupyter-lab <<'END'"+jupyterStandIn+"END\nchmod +x ~/lab/jupyter-lab")
	t.Cleanup(func() { try(t, user, "gpusched cancel --yes --mine; rm -rf ~/lab ~/busy ~/open") })
	return "PATH=~/lab:$PATH gpusched jupyter "
}

var sshLine = regexp.MustCompile(`(?m)^    ssh -N -L 8888:127\.0\.0\.1:(\d+) (\w+)@gpubox$`)
var browserLine = regexp.MustCompile(`(?m)^    http://127\.0\.0\.1:8888/\?token=(\w+)$`)

// shownBy returns the port and the token from the text that 'gpusched jupyter' prints to a user.
func shownBy(t *testing.T, user, text string) (port, token string) {
	t.Helper()
	s, b := sshLine.FindStringSubmatch(text), browserLine.FindStringSubmatch(text)
	if s == nil || b == nil || s[2] != user {
		t.Fatalf("%s is shown %q", user, text)
	}
	return s[1], b[1]
}

// fetch returns a command line that sends a request to a port. An empty token means none.
func fetch(port, path, token string) string {
	return fmt.Sprintf(`python3 -c 'import socket; s = socket.create_connection(("127.0.0.1", %s)); s.sendall(b"GET %s HTTP/1.1\r\nAuthorization: token %s\r\n\r\n"); print(s.recv(1000).decode())'`, port, path, token)
}

// TestJupyter: the notebooks of two users get different ports. 'gpusched jupyter' shows lines that
// lead into the user's job, also from another computer. Without the token another user gets
// nothing, and finds the token nowhere. If a user runs the command again, it shows the same lines.
func TestJupyter(t *testing.T) {
	begin(t)
	sshIntoJobs(t)
	mustFail(t, "alice", "gpusched jupyter", 2, `there is no program "jupyter-lab" in the PATH of the job ('pip install jupyterlab'`)
	alices, bobs := jupyterFor(t, "alice"), jupyterFor(t, "bob")
	text := sh(t, "alice", alices+"-g 1 -t 1h")
	port, token := shownBy(t, "alice", text)
	if again := sh(t, "alice", "gpusched jupyter"); again != text {
		t.Errorf("the second call shows %q, not %q", again, text)
	}
	other, _ := shownBy(t, "bob", sh(t, "bob", bobs+"-g 1 -t 1h"))
	if other == port {
		t.Errorf("both have port %s", port)
	}
	within := "/gpujob-" + holders(t) + ".service"
	if got := sh(t, "alice", fetch(port, "/group", token)); !strings.Contains(got, within) {
		t.Errorf("the server is in %s", got)
	}
	line := strings.Replace(strings.TrimSpace(sshLine.FindString(text)), "8888:", "7003:", 1)
	if got := sh(t, "alice", line+` & pid=$!
		for i in $(seq 100); do `+fetch("7003", "/group", token)+` 2>/dev/null && break; sleep 0.1; done; kill $pid`); !strings.Contains(got, within) {
		t.Errorf("through ssh: %s", got)
	}
	if got := sh(t, "bob", fetch(port, "/group", "")); !strings.Contains(got, "403 Forbidden") {
		t.Errorf("without the token: %s", got)
	}
	job := "gpusched show --json " + holders(t)
	for _, where := range []string{"ps axww -o args", "cat /proc/[0-9]*/environ", "cat /home/alice/.local/state/gpusched/jupyter/*", "journalctl", job} {
		if r := try(t, "bob", where+" 2>/dev/null"); strings.Contains(r.Stdout, token) {
			t.Errorf("bob finds the token by %s", where)
		}
	}
	if r := try(t, "", job+"; ps axww -o args; journalctl"); strings.Contains(r.Stdout, token) {
		t.Error("the token is on a command line, or in the journal")
	}
	mustFail(t, "alice", alices+"--name second --port "+other, 1, "port "+other+" can't be used here")
	sh(t, "alice", "gpusched cancel name:jupyter; gpusched wait -q name:jupyter || true")
	if left := sh(t, "alice", "ls ~/.local/state/gpusched/jupyter"); left != "" {
		t.Errorf("the address stays in %s", left)
	}
	if r := try(t, "alice", "touch ~/open; "+alices+"--name open; gpusched logs name:open"); !strings.Contains(r.Stdout, "Jupyter lets everybody on this machine in, so the job ends") {
		t.Errorf("without a token: %+v", r)
	}
}

// TestJupyterIdle: a notebook stays while a browser is connected or a kernel computes. After that
// it ends by itself.
func TestJupyterIdle(t *testing.T) {
	begin(t)
	settings(t, quickSampling)
	gpusSeen(t)
	port, token := shownBy(t, "alice", sh(t, "alice", "touch ~/busy; "+jupyterFor(t, "alice")+"-g 1 --idle 2s"))
	id := strings.TrimSpace(sh(t, "alice", "gpusched list --mine -o ids"))
	if r := try(t, "alice", "gpusched wait --timeout 5s "+id); r.Code != 7 {
		t.Errorf("a kernel computes: %+v", r)
	}
	stay := strings.Replace(fetch(port, "/stay", token), "print(s.recv(1000).decode())", "import time; time.sleep(6)", 1)
	if r := try(t, "alice", "("+stay+") >/dev/null 2>&1 & rm ~/busy; gpusched wait --timeout 5s "+id); r.Code != 7 {
		t.Errorf("a browser is connected: %+v", r)
	}
	if r := try(t, "alice", "gpusched wait "+id+"; gpusched logs "+id); !strings.Contains(r.Stdout, "completed") || !strings.Contains(r.Stdout, "so the job ends") {
		t.Errorf("unused: %+v", r)
	}
}

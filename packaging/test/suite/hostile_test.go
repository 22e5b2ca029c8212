//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// request is a program that sends an HTTP request to the daemon's socket and prints the answer. Its
// arguments are the parts of the request.
const request = `import socket, sys
method, path, body = sys.argv[1], sys.argv[2], sys.argv[3].encode() if len(sys.argv) > 3 else b""
s = socket.socket(socket.AF_UNIX)
s.connect("/run/gpusched/gpusched.sock")
s.sendall(("%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % (method, path, len(body))).encode() + body)
while True:
    got = s.recv(65536)
    if not got:
        break
    sys.stdout.write(got.decode(errors="replace"))
`

// TestForgedRequests: the socket allows an ordinary account no more than the gpusched command does.
// Each refusal states its reason.
func TestForgedRequests(t *testing.T) {
	begin(t)
	if err := the.WriteFile(t.Context(), "/usr/local/bin/request.py", request, 0o755); err != nil {
		t.Fatal(err)
	}
	id := submit(t, "alice", "-g 1 -e TOKEN=hush-hush -- sleep 1000")
	waitRun(t, id)
	ask := func(words string) string {
		return try(t, "bob", "python3 /usr/local/bin/request.py "+words).Stdout
	}
	job := func(extra string) string {
		return `'{"name":"x","gpu_milli":0,"argv":["aWQ="],"env_mode":"clean","dir":"Lw==","umask":18` + extra + `}'`
	}
	for what, c := range map[string]struct{ words, status, text string }{
		"an identity":         {"POST /v1/jobs " + job(`,"uid":1001`), "400", "uid"},
		"limits":              {"POST /v1/jobs " + job(`,"limits":[{"name":"MEMLOCK","hard":18446744073709551615}]`), "400", "limits"},
		"a raised priority":   {"POST /v1/jobs " + job(`,"priority":"interactive"`), "403", "administrator"},
		"a control character": {`POST /v1/jobs '{"name":"\u001b[2J","gpu_milli":0,"argv":["aWQ="],"env_mode":"clean","dir":"Lw=="}'`, "400", "printable"},
		"a relative dir":      {`POST /v1/jobs '{"name":"x","gpu_milli":0,"argv":["aWQ="],"env_mode":"clean","dir":"Li4="}'`, "400", "absolute"},
		"nonsense":            {"POST /v1/jobs '{{{'", "400", ""},
		"another's cancel":    {fmt.Sprintf("POST /v1/jobs/%d/cancel '{}'", id), "403", "alice"},
		"a GPU's pause":       {"POST /v1/gpus/0/pause '{}'", "403", ""},
		"a path":              {"GET /v1/../../etc/passwd", "", ""},
		"a huge id":           {"GET '/v1/jobs?ids=9223372036854775807'", "", ""},
		"a huge range":        {"GET '/v1/jobs?ids=1-9223372036854775807'", "400", ""},
	} {
		out := ask(c.words)
		if !strings.Contains(out, "HTTP/1.1 "+c.status) || !strings.Contains(out, c.text) || strings.Contains(out, "root:") {
			t.Errorf("%s: want %s with %q, got:\n%s", what, c.status, c.text, out)
		}
	}
	if out := ask(fmt.Sprintf("GET /v1/jobs/%d", id)); !strings.Contains(out, "200") || strings.Contains(out, "hush-hush") || strings.Contains(out, "private") {
		t.Errorf("bob reads alice's private part:\n%s", out)
	}
	if j := show(t, "", id); j.State != "running" {
		t.Errorf("the job is %s", j.State)
	}
}

// TestFloodOfConnections: one account keeps as many connections open as it can. The daemon still
// answers all other accounts.
func TestFloodOfConnections(t *testing.T) {
	begin(t)
	flood := `import socket, time
held = []
for i in range(400):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(1)
    try:
        s.connect("/run/gpusched/gpusched.sock")
        s.sendall(b"GET /v1/jobs HTTP/1.1\r\n")
        held.append(s)
    except OSError:
        pass
print("flooded", flush=True)
time.sleep(20)
`
	if err := the.WriteFile(t.Context(), "/usr/local/bin/flood.py", flood, 0o755); err != nil {
		t.Fatal(err)
	}
	sh(t, "", "systemd-run --quiet --unit flood --uid bob --property StandardOutput=file:/run/flood.out python3 /usr/local/bin/flood.py")
	t.Cleanup(func() { try(t, "", "systemctl stop flood") })
	poll(t, "the flood is on", func() bool { return strings.Contains(try(t, "", "cat /run/flood.out").Stdout, "flooded") })
	id := submit(t, "alice", "-g 1 -- true")
	mustEnd(t, wait(t, id), "completed", "exit code 0")
}

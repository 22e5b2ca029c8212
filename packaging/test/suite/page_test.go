//go:build machine

package suite

import (
	"fmt"
	"strings"
	"testing"
)

// requestPage is a program that requests a path with a given Host header. It prints the status and
// the answer.
const requestPage = `python3 -c 'import sys, socket
c = socket.create_connection(("127.0.0.1", 9837), 20)
c.sendall(("%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % tuple(sys.argv[1:])).encode())
text = b""
while piece := c.recv(65536): text += piece
print(text.decode().partition(" ")[2])' `

// TestPage: once an administrator enables the page, every account can read it. The page shows
// nothing private about a job. The page's program has no rights, and still works after a restart of
// the daemon.
func TestPage(t *testing.T) {
	begin(t)
	if r := try(t, "alice", requestPage+"GET / localhost"); r.Code == 0 {
		t.Errorf("the page is served before it is enabled: %s", r.Stdout)
	}
	sh(t, "", "systemctl enable --now gpusched-web.socket")
	t.Cleanup(func() { sh(t, "", "systemctl disable --now gpusched-web.socket; systemctl stop gpusched-web.service") })
	id := submit(t, "alice", "-g 1 -n visible -e TOKEN=hush-page -- sleep 987654")
	waitRun(t, id)
	poll(t, "the page shows the job", func() bool {
		return strings.Contains(sh(t, "bob", requestPage+"GET / localhost:9837"), "visible")
	})
	for _, path := range []string{"/", fmt.Sprintf("/job/%d", id)} {
		if text := sh(t, "bob", requestPage+"GET "+path+" 127.0.0.1"); !strings.HasPrefix(text, "200") || strings.Contains(text, "987654") || strings.Contains(text, "hush-page") {
			t.Errorf("%s: %s", path, text)
		}
	}
	for request, want := range map[string]string{"GET / gpus.example": "421", "POST / localhost": "405", "POST /v1/jobs localhost": "405", "GET /v1/jobs localhost": "404"} {
		if text := sh(t, "bob", requestPage+request); !strings.HasPrefix(text, want) {
			t.Errorf("%s: %s", request, text)
		}
	}
	if r := try(t, "", "systemd-analyze security --no-pager --threshold=12 gpusched-web.service"); r.Code != 0 {
		t.Errorf("the unit's exposure is above 1.2:\n%s", r.Stdout)
	} else {
		t.Log(r.Stdout[strings.LastIndex(r.Stdout, "→"):])
	}
	pid := sh(t, "", "systemctl show -P MainPID gpusched-web")
	if status := sh(t, "", `awk '/^(Uid|Cap[PEB]|NoNewPrivs|Seccomp:)/ {printf "%s%s ", $1, $2}' /proc/`+pid+"/status"); strings.Contains(status, "Uid:0 ") ||
		strings.Count(status, "0000000000000000") != 3 || !strings.Contains(status, "NoNewPrivs:1 Seccomp:2") {
		t.Errorf("the page's program holds %s", status)
	}
	sh(t, "", "systemctl restart gpusched") // also restarts the page's program, as an upgrade does
	poll(t, "the page is back", func() bool {
		text := sh(t, "bob", requestPage+"GET / localhost")
		return strings.Contains(text, "visible") && !strings.Contains(text, `role="alert"`)
	})
}

package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func recorder(s *Server, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

// Invariant 3: on every reading route, what is private reaches the owner and
// admins only.
func TestPrivateThingsReachOwnerAndAdminsOnly(t *testing.T) {
	const argv, env, comm = "c2VjcmV0LnB5", "S0VZPXNlY3JldA==", "secretproject" // base64 of secret.py, KEY=secret
	for _, rt := range routes() {
		if rt.method != "GET" {
			continue
		}
		path := strings.Replace(rt.pattern, "{id}", "1", 1)
		if strings.HasSuffix(path, "/wait") {
			path += "?timeout_seconds=0"
		}
		for _, p := range []peer{bob, alice, operator, root} {
			_, body := ask(testServer(queue(), nil), p, "GET", path, "")
			for _, secret := range []string{argv, env, comm} {
				if p.uid == bob.uid && strings.Contains(body, secret) {
					t.Errorf("GET %s shows %q to a stranger", path, secret)
				}
			}
			show := rt.pattern == "/v1/jobs/{id}"
			if p.uid != bob.uid && show && !(strings.Contains(body, argv) && strings.Contains(body, env)) {
				t.Errorf("GET %s hides the command from uid %d: %s", path, p.uid, body)
			}
			if p.uid != bob.uid && rt.pattern == "/v1/gpus" && !strings.Contains(body, comm) {
				t.Errorf("GET %s hides the process name from uid %d: %s", path, p.uid, body)
			}
		}
	}
}

func TestProcessesOfOthersKeepUserAndMemory(t *testing.T) {
	b := queue()
	b.View.GPUs[0].Processes[0].UsedBytes = 1 << 30
	status, body := ask(testServer(b, nil), bob, "GET", "/v1/gpus", "")
	if status != http.StatusOK || !strings.Contains(body, `{"pid":7,"uid":1001,"user":"alice","used_bytes":1073741824,"job":1}`) {
		t.Errorf("%d %s", status, body)
	}
}

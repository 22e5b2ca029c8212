package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

func recorder(s *Server, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

// Invariant 3: every route that reads shows private data only to the owner and to administrators.
func TestPrivateThingsReachOwnerAndAdminsOnly(t *testing.T) {
	const argv, env, comm = "c2VjcmV0LnB5", "S0VZPXNlY3JldA==", "secretproject" // base64 of secret.py, KEY=secret
	for _, rt := range routes() {
		if rt.Method != "GET" {
			continue
		}
		path := strings.Replace(rt.Path, "{id}", "1", 1)
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
			show := rt.Path == "/v1/jobs/{id}"
			if p.uid != bob.uid && show && !(strings.Contains(body, argv) && strings.Contains(body, env)) {
				t.Errorf("GET %s hides the command from uid %d: %s", path, p.uid, body)
			}
			if p.uid != bob.uid && rt.Path == "/v1/gpus" && !strings.Contains(body, comm) {
				t.Errorf("GET %s hides the process name from uid %d: %s", path, p.uid, body)
			}
		}
	}
}

// If a job's private part is lost, the rest of the job is shown.
func TestPrivatePartIsGone(t *testing.T) {
	b := queue()
	b.Unread = map[job.ID]bool{1: true}
	status, body := ask(testServer(b, nil), alice, "GET", "/v1/jobs/1", "")
	if status != http.StatusOK || strings.Contains(body, "argv") || !strings.Contains(body, `"state":`) {
		t.Errorf("status %d: %s", status, body)
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

// The parameters of a sweep are private, like the command.
func TestParametersReachOwnerAndAdminsOnly(t *testing.T) {
	for _, path := range []string{
		"/v1/jobs", "/v1/jobs?ids=3,3_1", "/v1/jobs?array=3", "/v1/status", "/v1/gpus",
		"/v1/jobs/3", "/v1/jobs/4", "/v1/jobs/3_1", "/v1/jobs/3_2", "/v1/jobs/3_1/wait?timeout_seconds=0",
	} {
		for _, p := range []peer{bob, alice, operator, root} {
			status, body := ask(testServer(queueWithArray(), nil), p, "GET", path, "")
			shown := strings.Contains(body, "secretname") || strings.Contains(body, "secretvalue")
			want := p.uid != bob.uid && strings.HasPrefix(path, "/v1/jobs/") && !strings.Contains(path, "wait")
			if shown != want || status != http.StatusOK && !strings.Contains(path, "wait") {
				t.Errorf("GET %s as uid %d shows parameters %v, want %v: %d %s", path, p.uid, shown, want, status, body)
			}
		}
	}
}

func TestATaskHasItsOwnCommand(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/jobs/3":   `"command":"train '--a={secretname}' '--seed={seed}'"`,
		"/v1/jobs/3_1": `"command":"train --a=secretvalue0 --seed=1"`,
		"/v1/jobs/4":   `"params":[{"name":"secretname","values":["secretvalue0"]},{"name":"seed","values":["1"]}]`,
		"/v1/jobs/3_6": `"command":"train --a=secretvalue1 --seed=2"`,
	} {
		if status, body := ask(testServer(queueWithArray(), nil), alice, "GET", path, ""); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("GET %s: %d %s\nwant %s", path, status, body, want)
		}
	}
}

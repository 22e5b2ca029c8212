package server

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
)

// Invariant 1: the table is walked, so that a new route is tested by being in
// it.
func TestEveryRouteEnforcesItsRight(t *testing.T) {
	may := map[right]map[string]bool{
		anyone:       {"bob": true, "alice": true, "operator": true, "primary": true, "root": true},
		ownerOrAdmin: {"bob": false, "alice": true, "operator": true, "primary": true, "root": true},
		adminOnly:    {"bob": false, "alice": false, "operator": true, "primary": true, "root": true},
	}
	for _, rt := range routes() {
		for _, p := range []peer{bob, alice, operator, primary, root} {
			t.Run(fmt.Sprintf("%s %s as %s", rt.method, rt.pattern, names[p.uid]), func(t *testing.T) {
				want, declared := may[rt.right][names[p.uid]]
				if !declared {
					t.Fatalf("right %d is not one that this test knows", rt.right)
				}
				b := queue()
				path := strings.NewReplacer("{id}", "1", "{index}", "0").Replace(rt.pattern)
				if strings.HasSuffix(path, "/wait") {
					path += "?timeout_seconds=0"
				}
				status, body := ask(testServer(b, nil), p, rt.method, path, "")
				if got := status != http.StatusForbidden; got != want {
					t.Errorf("allowed = %v, want %v: %d %s", got, want, status, body)
				}
				if !want && (refusal(t, body).Code != api.CodeForbidden || len(b.Commands()) > 0 || len(b.Submissions()) > 0) {
					t.Errorf("a refused request had an effect: %s, %v", body, b.Commands())
				}
			})
		}
	}
}

// A task, started or not, is as well guarded as its array.
func TestTasksBelongToTheArraysOwner(t *testing.T) {
	for _, verb := range []string{"cancel", "hold", "release", "requeue", "update"} {
		for _, task := range []string{"3_1", "3_2"} {
			b := sweep()
			status, body := ask(testServer(b, nil), bob, "POST", "/v1/jobs/"+task+"/"+verb, "")
			if status != http.StatusForbidden || len(b.Commands()) > 0 {
				t.Errorf("%s of %s by a stranger: %d %s", verb, task, status, body)
			}
		}
	}
}

// Routes that change something on behalf of all must never be for anyone but
// these two.
func TestOnlyReadingAndSubmittingIsForAnyone(t *testing.T) {
	for _, rt := range routes() {
		if rt.right == anyone && rt.method != "GET" && rt.pattern != "/v1/jobs" {
			t.Errorf("%s %s changes something and is for anyone", rt.method, rt.pattern)
		}
	}
}

func TestARouteWithoutARightRefusesRoot(t *testing.T) {
	s := testServer(queue(), nil)
	s.mux.HandleFunc("GET /v1/forgotten", func(w http.ResponseWriter, r *http.Request) {
		s.serve(route{handle: (*Server).version}, w, r)
	})
	if status, body := ask(s, root, "GET", "/v1/forgotten", ""); status != http.StatusForbidden {
		t.Errorf("%d %s", status, body)
	}
}

// Invariant 2: no identity, no answer.
func TestAConnectionWithoutIdentityIsRefused(t *testing.T) {
	s := testServer(queue(), nil)
	w := recorder(s, "GET", "/v1/version")
	if w.Code != http.StatusForbidden {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestWithoutTheGroupOnlyRootIsAdmin(t *testing.T) {
	s := testServer(queue(), nil)
	s.opt.AdminGroup = func() (int, bool) { return 0, false }
	for _, p := range []peer{operator, primary, {uid: 1005, gid: 0, groups: []uint32{0}}} {
		if s.actor(p).Admin {
			t.Errorf("%+v is an admin", p)
		}
	}
	if !s.actor(root).Admin {
		t.Error("root is no admin")
	}
}

func TestAccessIsLogged(t *testing.T) {
	for _, c := range []struct {
		who  peer
		path string
		want string
	}{
		{bob, "/v1/jobs/1/cancel", "level=WARN msg=\"request refused\" uid=1002 method=POST path=/v1/jobs/1/cancel code=forbidden"},
		{bob, "/v1/gpus/0/pause", "level=WARN msg=\"request refused\" uid=1002 method=POST path=/v1/gpus/0/pause code=forbidden"},
		{operator, "/v1/gpus/0/pause", "level=INFO msg=\"admin action\" uid=1003 user=operator method=POST path=/v1/gpus/0/pause"},
		{root, "/v1/jobs/1/cancel", "level=INFO msg=\"admin action\" uid=0 user=root method=POST path=/v1/jobs/1/cancel"},
	} {
		var log bytes.Buffer
		ask(testServer(queue(), &log), c.who, "POST", c.path, "")
		if !strings.Contains(log.String(), c.want) || strings.Count(log.String(), "\n") != 1 {
			t.Errorf("%s by %d logged:\n%swant one line with\n%s", c.path, c.who.uid, log.String(), c.want)
		}
	}
}

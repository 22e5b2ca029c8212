package server

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Invariant 1: the test checks every row of the route table. This includes routes that are added
// later.
func TestEveryRouteEnforcesItsRight(t *testing.T) {
	may := map[right]map[string]bool{
		ownersOrAdmin: {"bob": true, "alice": true, "operator": true, "primary": true, "root": true}, // see TestManyIsRefusedJobByJob
		anyone:        {"bob": true, "alice": true, "operator": true, "primary": true, "root": true},
		ownerOrAdmin:  {"bob": false, "alice": true, "operator": true, "primary": true, "root": true},
		adminOnly:     {"bob": false, "alice": false, "operator": true, "primary": true, "root": true},
	}
	for _, rt := range routes() {
		for _, p := range []peer{bob, alice, operator, primary, root} {
			t.Run(fmt.Sprintf("%s %s as %s", rt.Method, rt.Path, names[p.uid]), func(t *testing.T) {
				want, declared := may[rt.right][names[p.uid]]
				if !declared {
					t.Fatalf("right %d is not one that this test knows", rt.right)
				}
				b := queue()
				status, body := ask(testServer(b, nil), p, rt.Method, pathOf(rt), "")
				if got := status != http.StatusForbidden; got != want {
					t.Errorf("allowed = %v, want %v: %d %s", got, want, status, body)
				}
				if !want && (refusal(t, body).Code != api.CodeForbidden || len(b.Commands()) > 0 || len(b.Submissions()) > 0) {
					t.Errorf("a refused request had an effect: %s, %v", body, b.Commands())
				}
			})
		}
		t.Run(fmt.Sprintf("%s %s as nobody", rt.Method, rt.Path), func(t *testing.T) {
			if w := recorder(testServer(queue(), nil), rt.Method, pathOf(rt)); w.Code != http.StatusForbidden {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
}

// pathOf returns the route's path, with alice's running job or GPU 0.
func pathOf(rt route) string {
	path := strings.NewReplacer("{id}", "1", "{index}", "0").Replace(rt.Path)
	if rt.Name == "wait" {
		path += "?timeout_seconds=0"
	}
	return path
}

// Invariants 1 and 3: an answer shows strangers what the route table says, and never a job's
// private part.
func TestAnswersShowOfOthersWhatTheTableSays(t *testing.T) {
	for _, rt := range routes() {
		b := queueWithArray()
		b.End(1, job.Result{Outcome: job.Completed}) // so that a wait for the job is answered
		path := pathOf(rt)
		if rt.Name == "list" {
			path += "?ended=9"
		}
		if rt.Name == "report" {
			path += "?by=user"
		}
		if rt.Name == "usage" {
			path += "?user=alice"
		}
		if rt.Name == "health" { // such a line names jobs that hold up a reboot
			b.Checks = []job.Check{{Name: "reboot", Health: job.Limited, Detail: "it waits for 1 job (1 of alice)"}}
		}
		if rt.Name == "events" {
			path += "?since=0"
			b.Announce(job.Event{Kind: job.EventStarted, Job: 1, Called: "1", User: "alice", UID: new(1001), State: job.Running})
		}
		_, body := ask(testServer(b, nil), bob, rt.Method, path, "")
		body = strings.NewReplacer(`"keys":["alice"]`, `"user":"alice"`, `(1 of alice)`, `"user":"alice"`).Replace(body)
		if strings.Contains(body, "secret") || strings.Contains(body, "/home/alice") {
			t.Errorf("%s %s shows the private part to a stranger: %s", rt.Method, rt.Path, body)
		}
		aboutHer := rt.Method == "GET" && (strings.Contains(body, `"user":"alice"`) || strings.Contains(body, `"jobs":[`))
		switch rt.visibility {
		case redacted:
			if !aboutHer {
				t.Errorf("%s %s is said to show others' jobs and does not: %s", rt.Method, rt.Path, body)
			}
		case ownerOnly:
			if aboutHer {
				t.Errorf("%s %s is said to show nothing of others' jobs: %s", rt.Method, rt.Path, body)
			}
		default:
			t.Errorf("%s %s does not say what it shows", rt.Method, rt.Path)
		}
	}
}

// The manual's table is the same as the route table.
func TestTheManualHasTheTable(t *testing.T) {
	text, err := os.ReadFile("../../packaging/man/gpuschedd.8")
	if err != nil {
		t.Fatal(err)
	}
	may := map[right]string{anyone: "everybody", ownerOrAdmin: "owner, administrators", ownersOrAdmin: "owner, administrators", adminOnly: "administrators"}
	saw := map[visibility]string{ownerOnly: "nothing", redacted: "public part"}
	rows := strings.Count(string(text), "\n/v1/")
	for _, rt := range routes() {
		row := strings.ReplaceAll(fmt.Sprintf("\n/v1/%s\t%s\t%s\t%s\n", strings.TrimPrefix(rt.Path, "/v1/"), rt.Name, may[rt.right], saw[rt.visibility]), "-", "\\-")
		if !strings.Contains(string(text), row) {
			t.Errorf("gpuschedd.8 does not have the row %q", row)
		}
	}
	if rows != len(routes()) {
		t.Errorf("gpuschedd.8 has %d rows, the table %d", rows, len(routes()))
	}
}

// The mux serves only the routes of the table.
func TestOnlyTheTableIsServed(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		n := strings.Count(string(text), ".HandleFunc(") + strings.Count(string(text), "mux.Handle(")
		if name == "route.go" {
			n -= 2
		}
		if n != 0 && !strings.HasSuffix(name, "_test.go") {
			t.Errorf("%s adds routes beside the table", name)
		}
	}
}

// A task is protected as its array is, before and after its start.
func TestTasksBelongToTheArraysOwner(t *testing.T) {
	for _, verb := range []string{"cancel", "hold", "release", "requeue", "update"} {
		for _, task := range []string{"3_1", "3_2"} {
			b := queueWithArray()
			status, body := ask(testServer(b, nil), bob, "POST", "/v1/jobs/"+task+"/"+verb, "")
			if status != http.StatusForbidden || len(b.Commands()) > 0 {
				t.Errorf("%s of %s by a stranger: %d %s", verb, task, status, body)
			}
		}
	}
}

// A route that changes something must not be open to anyone. The only exceptions are the two routes
// in this test.
func TestOnlyReadingAndSubmittingIsForAnyone(t *testing.T) {
	for _, rt := range routes() {
		if rt.right == anyone && rt.Method != "GET" && rt.Path != "/v1/jobs" {
			t.Errorf("%s %s changes something and is for anyone", rt.Method, rt.Path)
		}
	}
}

func TestARouteWithoutARightRefusesRoot(t *testing.T) {
	s := testServer(queue(), nil)
	s.mux.HandleFunc("GET /v1/forgotten", func(w http.ResponseWriter, r *http.Request) {
		s.serve(route{Route: new(api.Route), handle: (*Server).handleVersion}, w, r)
	})
	if status, body := ask(s, root, "GET", "/v1/forgotten", ""); status != http.StatusForbidden {
		t.Errorf("%d %s", status, body)
	}
}

// Invariant 2: a connection without an identity gets no answer.
func TestAConnectionWithoutIdentityIsRefused(t *testing.T) {
	s := testServer(queue(), nil)
	w := recorder(s, "GET", "/v1/version")
	if w.Code != http.StatusForbidden {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestWithoutTheGroupOnlyRootIsAdmin(t *testing.T) {
	s := testServer(queue(), nil)
	s.opt.GroupID = func(string) (int, bool) { return 0, false }
	for _, p := range []peer{operator, primary, {uid: 1005, gid: 0, groups: []uint32{0}}} {
		if s.accounts.actor(p).Admin {
			t.Errorf("%+v is an admin", p)
		}
	}
	if !s.accounts.actor(root).Admin {
		t.Error("root is no admin")
	}
}

// Invariant 2: a user who left the group has no right, even in a session that began earlier. If
// nobody knows whether an account is in the group, the account has no right either.
func TestAdministratorsAreCheckedToday(t *testing.T) {
	s := testServer(queue(), nil)
	for name, in := range map[string]bool{"a member": true, "no member more": false} {
		s.opt.Holds = func(_, gid int) bool { return in && gid == adminGID }
		for _, p := range []peer{operator, primary} {
			if got := s.accounts.actor(p).Admin; got != in {
				t.Errorf("%s, %+v: an admin: %t", name, p, got)
			}
		}
		if s.accounts.actor(alice).Admin || !s.accounts.actor(root).Admin {
			t.Errorf("%s: alice is an admin or root is none", name)
		}
	}
}

// If the directory service does not answer, an unknown name does not mean that there is no such
// account. The look-up of the name counts against the caller's person.
func TestNameOfASilentDirectory(t *testing.T) {
	s := testServer(queue(), nil)
	asker := 0
	s.opt.Person = func(uid int) (int, bool) { return uid + 1_000_000, true }
	s.opt.UserID = func(who int, _ string) (int, bool, error) {
		asker = who
		return 0, false, errors.New("nothing within 2s")
	}
	code, body := ask(s, alice, "GET", "/v1/jobs?user=dora", "")
	if code != http.StatusServiceUnavailable || !strings.Contains(body, "does not answer: nothing within 2s") ||
		!strings.Contains(body, "dora") || asker != alice.uid+1_000_000 {
		t.Errorf("%d for %d: %s", code, asker, body)
	}
	reserve := `{"gpus":[0],"to":"2040-01-01T00:00:00Z","users":["dora"]}`
	if code, body = ask(s, root, "POST", "/v1/reservations", reserve); !strings.Contains(body, "does not answer") {
		t.Errorf("a reservation: %d %s", code, body)
	}
}

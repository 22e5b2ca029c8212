package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// heirServer is a testServer on a machine where liam's account now has alice's uid.
func heirServer(b Backend) *Server {
	s := testServer(b, nil)
	s.opt.UserName = func(uid int) string {
		if uid == alice.uid {
			return "liam"
		}
		return names[uid]
	}
	s.opt.KnownName = s.opt.UserName
	s.opt.UserID = func(_ int, name string) (int, bool, error) {
		return map[string]int{"liam": 1001, "bob": 1002}[name], name == "liam" || name == "bob", nil
	}
	return s
}

// An account with the uid of a removed account has no right to that account's jobs, whether they
// wait, run or have ended. These jobs do not count as the new account's jobs. An administrator has
// the right, and finds the jobs by the removed account's name.
func TestTheNumberAloneGivesNoRight(t *testing.T) {
	for _, rt := range routes() {
		if rt.right != ownerOrAdmin {
			continue
		}
		if status, body := ask(heirServer(queue()), alice, rt.Method, pathOf(rt), ""); status != http.StatusForbidden {
			t.Errorf("%s %s: %d %s", rt.Method, rt.Path, status, body)
		}
	}
	b := queue()
	b.End(1, job.Result{Outcome: job.Completed})
	s := heirServer(b)
	for who, private := range map[*peer]bool{&alice: false, &operator: true} {
		_, body := ask(s, *who, "GET", "/v1/jobs/1", "")
		if strings.Contains(body, "secret") != private || !strings.Contains(body, `"uid_now":"liam"`) {
			t.Errorf("uid %d is shown %s", who.uid, body)
		}
	}
	for query, has := range map[string]bool{
		"uid=1001": false, "user=liam": false, "user=alice": true, "user=1001": true, "user=bob": false,
	} {
		for _, path := range []string{"/v1/jobs?ended=9&" + query, "/v1/history?" + query, "/v1/jobs?form=ids&" + query} {
			status, body := ask(s, alice, "GET", path, "")
			found := strings.Contains(body, `"user":"alice"`) || strings.HasPrefix(body, "2")
			if found != has || status != http.StatusOK {
				t.Errorf("%s: %d %s", path, status, body)
			}
		}
	}
	if status, body := ask(s, operator, "GET", "/v1/jobs?uid=1001", ""); status != http.StatusOK || !strings.Contains(body, `"user":"alice"`) {
		t.Errorf("by number: %d %s", status, body)
	}
	if _, body := ask(s, bob, "GET", "/v1/jobs?user=nobody-of-us", ""); refusal(t, body).Code != api.CodeUsage {
		t.Errorf("of a name that nobody has or had: %s", body)
	}
}

// The uid of a container's account has no name. The jobs of that uid belong to the person whose
// container has the uid now.
func TestTheNumberOfAContainerGivesNoRight(t *testing.T) {
	const inside = 100_005
	for name, private := range map[string]bool{"kate": true, "liam": false} {
		b := queue()
		j := &b.View.Jobs[0].Job
		j.Owner, j.Principal = job.Owner{UID: inside, User: "100005"}, &job.Account{UID: alice.uid, User: "kate"}
		s := testServer(b, nil)
		s.opt.Person = func(int) (int, bool) { return alice.uid, true }
		s.opt.UserName = func(uid int) string { return map[int]string{alice.uid: name}[uid] }
		_, body := ask(s, peer{uid: inside, gid: inside}, "GET", "/v1/jobs/1", "")
		if strings.Contains(body, "secret") != private {
			t.Errorf("a container of %s is shown %s", name, body)
		}
	}
}

// At first it may be unknown whether a client's uid belongs to an account or to a container. Until
// that is known, the client cannot queue jobs, because they might count as jobs of the wrong
// person. Neither of the two possible persons can see the client's private data.
func TestSubmitOfAnUncertainPerson(t *testing.T) {
	const dirk = 165_600
	b := queue()
	b.View.GPUs[0].Processes = []job.GPUProcess{{PID: 7, UID: dirk, Comm: "secret"}}
	s := testServer(b, nil)
	certain := false
	s.opt.Person = func(uid int) (int, bool) {
		if uid == dirk && !certain {
			return bob.uid, false
		}
		return uid, true
	}
	const submit = `{"argv":["eA=="],"dir":"Lw==","name":"n"}`
	status, body := ask(s, peer{uid: dirk, gid: dirk}, "POST", "/v1/jobs", submit)
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "uid 165600 is an account of its own or belongs to a container of bob") || len(b.Submissions()) > 0 {
		t.Errorf("%d %s: %+v", status, body, b.Submissions())
	}
	if _, body := ask(s, bob, "GET", "/v1/gpus", ""); strings.Contains(body, "secret") {
		t.Errorf("bob is shown %s", body)
	}
	certain = true
	if status, body = ask(s, peer{uid: dirk, gid: dirk}, "POST", "/v1/jobs", submit); status != http.StatusOK || len(b.Submissions()) != 1 || b.Submissions()[0].Principal != nil {
		t.Errorf("%d %s: %+v", status, body, b.Submissions())
	}
}

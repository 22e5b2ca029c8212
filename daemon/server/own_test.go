package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// A user's own scheduler answers only that user and root.
// The user may do everything. Root may not submit jobs.
func TestOwnScheduler(t *testing.T) {
	b := queue()
	b.View.Jobs[0].Request.MemBytes = 1 << 30
	s := testServer(b, nil)
	s.opt.Own, s.opt.Unlimited = &job.Account{UID: alice.uid, User: "alice"}, func() []string { return []string{"cpu", "memory"} }
	for _, rt := range []struct{ method, path, body string }{
		{"GET", "/v1/version", ""}, {"GET", "/v1/jobs", ""}, {"GET", "/v1/health", ""}, {"POST", "/v1/jobs/1/cancel", "{}"}, {"POST", "/v1/jobs", "{}"},
	} {
		for _, p := range []peer{bob, operator, primary} {
			status, body := ask(s, p, rt.method, rt.path, rt.body)
			if e := refusal(t, body); status != http.StatusForbidden || !strings.Contains(e.Message, "alice's own") || e.Hint == "" {
				t.Errorf("%s %s as %d: %d %s", rt.method, rt.path, p.uid, status, body)
			}
		}
	}
	if !s.accounts.actor(alice).Admin || !s.accounts.actor(root).Admin || s.accounts.actor(bob).Admin {
		t.Error("alice and root, and nobody else, are administrators")
	}
	if status, body := ask(s, root, "POST", "/v1/jobs", "{}"); status != http.StatusForbidden || !strings.Contains(body, "submitted by nobody else") {
		t.Errorf("root submits: %d %s", status, body)
	}
	if status, body := ask(s, alice, "POST", "/v1/drain", `{"reboot":true}`); status != http.StatusBadRequest || !strings.Contains(body, "can't reboot the machine") {
		t.Errorf("alice drains for a reboot: %d %s", status, body)
	}
	if status, body := ask(s, alice, "POST", "/v1/drain", `{}`); status != http.StatusOK {
		t.Errorf("alice drains: %d %s", status, body)
	}
	status, body := ask(s, root, "GET", "/v1/jobs", "")
	var list api.ListReply
	if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK || len(list.Jobs) != 2 {
		t.Fatalf("root lists: %d %s", status, body)
	}
	for i, want := range [][]string{{"devices", "mem"}, {"devices"}} {
		if j := list.Jobs[i]; j.Manager != api.UserManager || !slices.Equal(j.NotEnforced, want) {
			t.Errorf("job %d: %q, %q", j.ID, j.Manager, j.NotEnforced)
		}
	}
}

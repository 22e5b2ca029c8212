package server

import (
	"bytes"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/sandbox"
)

func thisPeer() peer { return peer{pid: os.Getpid(), uid: os.Getuid(), seen: sandbox.SinceBoot()} }

// If the limits of the submitting process can't be read, or the process is in a sandbox, the
// submission is refused with a hint, and the refusal is logged. The site may allow sandboxes.
func TestSubmitFromNowhere(t *testing.T) {
	var log bytes.Buffer
	s := testServer(queue(), &log)
	const body = `{"name":"x","argv":["aWQ="],"dir":"Lw=="}`
	s.processOf = func(peer) (process, error) { return process{}, sandbox.ErrGone }
	code, text := ask(s, alice, http.MethodPost, "/v1/jobs", body)
	if e := refusal(t, text); code != http.StatusForbidden || e.Code != api.CodeForbidden || !strings.Contains(e.Message, "it has ended") || e.Hint == "" {
		t.Errorf("without limits: %d %s", code, text)
	}
	s.processOf = func(peer) (process, error) {
		return process{limits: []contract.Limit{{Name: "NOFILE", Soft: 1, Hard: 2}}, sandbox: "has a filter"}, nil
	}
	code, text = ask(s, alice, http.MethodPost, "/v1/jobs", body)
	if e := refusal(t, text); code != http.StatusForbidden || !strings.Contains(e.Message, "a filter") || !strings.Contains(e.Hint, "jobs.allow_sandboxed") {
		t.Errorf("from a sandbox: %d %s", code, text)
	}
	if n := strings.Count(log.String(), "outcome=refused"); n != 2 {
		t.Errorf("%d lines of the audit log: %s", n, log.String())
	}
	cfg := *s.opt.Config()
	cfg.Jobs.AllowSandboxed = true
	s.opt.Config = func() *config.Config { return &cfg }
	if code, text = ask(s, alice, http.MethodPost, "/v1/jobs", body); code != http.StatusOK {
		t.Errorf("where the site allows it: %d %s", code, text)
	}
}

// Requests to run commands in a job's unit are refused for the same reasons as submissions, before
// anything is opened (invariant 2).
func TestOpenFromNowhere(t *testing.T) {
	q := queue()
	s := testServer(q, nil)
	open := func() (int, string) { return ask(s, alice, http.MethodPost, "/v1/jobs/1/open", "{}") }
	if code, text := open(); code != http.StatusOK {
		t.Fatalf("from an ordinary session: %d %s", code, text)
	}
	s.processOf = func(peer) (process, error) { return process{}, sandbox.ErrGone }
	if code, text := open(); code != http.StatusForbidden || !strings.Contains(refusal(t, text).Message, "it has ended") {
		t.Errorf("from a process that has gone: %d %s", code, text)
	}
	s.processOf = func(peer) (process, error) { return process{sandbox: "has a filter"}, nil }
	code, text := open()
	if e := refusal(t, text); code != http.StatusForbidden || e.Code != api.CodeForbidden || !strings.Contains(e.Message, "a filter") || e.Hint != contract.SandboxHint {
		t.Errorf("from a sandbox: %d %s", code, text)
	}
	cfg := *s.opt.Config()
	cfg.Jobs.AllowSandboxed = true
	s.opt.Config = func() *config.Config { return &cfg }
	if code, text := open(); code != http.StatusOK {
		t.Errorf("where the site allows it: %d %s", code, text)
	}
}

package supervise

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
)

// postman is a systemd that runs nothing. It records the requests, and the input that
// gpusched-notify would have read.
type postman struct {
	t      *testing.T
	name   string
	props  map[string]any
	mode   os.FileMode
	given  contract.Message
	status units.Status
	err    error
	runs   int
}

func (m *postman) RunOneshot(_ context.Context, name string, props []units.Property) (units.Status, error) {
	m.runs++
	m.name, m.props = name, map[string]any{}
	for _, p := range props {
		m.props[p.Name] = p.Value
	}
	path := m.props["StandardInputFile"].(string)
	info, err := os.Stat(path)
	if err != nil {
		m.t.Fatal(err)
	}
	m.mode = info.Mode()
	data, err := os.ReadFile(path)
	m.given = contract.Message{}
	if err := errors.Join(err, json.Unmarshal(data, &m.given)); err != nil {
		m.t.Fatal(err)
	}
	return m.status, m.err
}

func newSender(t *testing.T) (*sender, *postman) {
	m := &postman{t: t, status: units.Status{Result: units.ResultSuccess}}
	return &sender{
		Dir: t.TempDir(), Program: "/usr/libexec/gpusched/gpusched-notify", Host: "gpu1", Units: m,
		Bars:    func(*job.Notify) job.Message { return job.Message{} },
		Webhook: func(name string) string { return map[string]string{"chat": siteURL}[name] },
		Render:  func(v *job.JobView) api.Job { return api.Job{ID: v.ID} },
	}, m
}

const siteURL = "https://chat.inner.example.org:8443/hooks/secret"

// owedMessage returns a message about the end of one of alice's jobs.
func owedMessage(wish job.Notify) (job.Notification, *job.Job) {
	j := &job.Job{ID: 7, State: job.Completed, Result: &job.Result{Outcome: job.Completed}}
	j.Owner = job.Owner{UID: 1001, GID: 1002, User: "alice"}
	j.Label.Name, j.Request.Notify = "<!channel>", []job.Notify{{}, wish}
	return job.Notification{Job: 7, Event: job.NotifyEnd, Which: 1, UID: 1001, Way: wish.Way, At: time.Unix(5, 0)}, j
}

// Invariants 6 and 7: a process of the user contacts the user's recipient, and a process of the
// account nobody contacts the site's webhook. Other users can't read any address or URL, and no
// file is left behind.
func TestWhoSends(t *testing.T) {
	for _, c := range []struct {
		wish   job.Notify
		to     string
		given  string
		ofSite bool
	}{
		{job.Notify{Way: job.NotifyMail}, "", "alice", false},
		{job.Notify{Way: job.NotifyMail}, "a.secret@example.org", "a.secret@example.org", false},
		{job.Notify{Way: job.NotifyTerminal}, "", "", false},
		{job.Notify{Way: job.NotifyWebhook}, "https://example.org/secret", "https://example.org/secret", false},
		{job.Notify{Way: job.NotifyWebhook, Webhook: "chat"}, "", siteURL, true},
	} {
		s, m := newSender(t)
		n, j := owedMessage(c.wish)
		if why, again := s.Deliver(t.Context(), n, j, c.to); !why.IsZero() || again || m.runs != 1 {
			t.Fatalf("%+v: %v", c.wish, why)
		}
		if m.name != "gpusched-notify-7-end-1.service" || m.given.To != c.given || m.given.OfSite != c.ofSite || m.given.Way != string(c.wish.Way) {
			t.Errorf("%+v: the unit %s is given %+v", c.wish, m.name, m.given)
		}
		_, dynamic := m.props["DynamicUser"]
		if dynamic != c.ofSite || !c.ofSite && (m.props["User"] != "1001" || m.props["Group"] != "1002") || c.ofSite && m.props["User"] != nil {
			t.Errorf("%+v: runs as %v, %v, nobody: %t", c.wish, m.props["User"], m.props["Group"], dynamic)
		}
		if text := fmt.Sprint(m.props); strings.Contains(text, "secret") || m.mode.Perm()&0o007 != 0 {
			t.Errorf("%+v: others can read %v %v", c.wish, text, m.mode)
		}
		if left, err := filepath.Glob(s.Dir + "/*"); err != nil || len(left) != 0 {
			t.Errorf("%+v: left behind: %v", c.wish, left)
		}
	}
}

// A user is told on the terminals, by a process that runs as that user. If nobody could be told,
// the error says why.
func TestUsersAreTold(t *testing.T) {
	s, m := newSender(t)
	if err := s.TellUser(t.Context(), 1002, "GPU 0 has belonged to job 12"); err != nil {
		t.Fatal(err)
	}
	if m.given.Way != "terminal" || m.given.Subject != "GPU 0 has belonged to job 12" || m.props["User"] != "1002" || m.props["Group"] != nil {
		t.Errorf("as %v of %v: %+v", m.props["User"], m.props["Group"], m.given)
	}
	if !units.IsErrand(m.name) || !strings.HasPrefix(m.name, "gpusched-notify-user-1002-") {
		t.Errorf("the unit is %s", m.name)
	}
	m.status = units.Status{Result: units.ResultExitCode, MainStatus: contract.MessageRefused, StatusText: "the user has no terminal open"}
	if err := s.TellUser(t.Context(), 1002, "x"); err == nil || err.Error() != "the user has no terminal open" {
		t.Errorf("without a terminal: %v", err)
	}
	if left, err := filepath.Glob(s.Dir + "/*"); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// The text for a webhook says whose job it is. No job's name in the text can address people in a
// chat channel. All tries have the same id.
func TestWebhookBody(t *testing.T) {
	s, m := newSender(t)
	n, j := owedMessage(job.Notify{Way: job.NotifyWebhook, Webhook: "chat"})
	s.Deliver(t.Context(), n, j, "")
	first := m.given.ID
	n.Tries, n.Next = 1, time.Unix(50, 0)
	s.Deliver(t.Context(), n, j, "")
	var body api.WebhookMessage
	if err := json.Unmarshal([]byte(m.given.Body), &body); err != nil {
		t.Fatal(err)
	}
	if body.ID != first || m.given.ID != first || body.Schema != api.Schema || body.Event != job.NotifyEnd || body.Job.ID != 7 || body.Host != "gpu1" {
		t.Errorf("the body is %+v, the id was %q", body, first)
	}
	if body.Text != "alice: job 7 (＜!channel＞) completed: exit code 0 on gpu1" {
		t.Errorf("the text is %q", body.Text)
	}
}

// Invariant 8: a message that the present settings forbid is not sent, even if earlier settings
// allowed it. The check of the settings gets the request together with its address.
func TestSettingsOfNow(t *testing.T) {
	s, m := newSender(t)
	var asked job.Notify
	s.Bars = func(n *job.Notify) job.Message { asked = *n; return job.Say("detail/notify-url") }
	n, j := owedMessage(job.Notify{Way: job.NotifyWebhook})
	why, again := s.Deliver(t.Context(), n, j, "https://example.org/mine")
	if why.Code != "detail/notify-url" || again || m.runs != 0 || asked.Way != job.NotifyWebhook || asked.To != "https://example.org/mine" {
		t.Errorf("%v, again %t, %d units; asked about %+v", why, again, m.runs, asked)
	}
	s, m = newSender(t)
	s.Webhook = func(string) string { return "" } // the webhook exists, but now has no URL
	n, j = owedMessage(job.Notify{Way: job.NotifyWebhook, Webhook: "chat"})
	if why, again := s.Deliver(t.Context(), n, j, ""); why.Code != "detail/notify-webhook" || again || m.runs != 0 {
		t.Errorf("a webhook without a URL: %v, again %t, %d units", why, again, m.runs)
	}
}

// The outcome of a unit includes the program's status line. It is one line that anybody may see.
func TestOutcome(t *testing.T) {
	exit := func(code int32, text string) units.Status {
		return units.Status{Result: units.ResultExitCode, MainStatus: code, StatusText: text}
	}
	for _, c := range []struct {
		status units.Status
		why    string
		again  bool
	}{
		{units.Status{Result: units.ResultSuccess, StatusText: "fine"}, "", false},
		{units.Status{Result: units.ResultTimeout, StatusText: "x"}, "detail/notify-slow", true},
		{exit(contract.MessageRefused, "no such user"), "no such user", false},
		{exit(contract.MessageAgain, "busy"), "busy", true},
		{exit(contract.MessageAgain, ""), "detail/notify-unit exit-code", true},
		{exit(contract.MessageRefused, ""), "detail/notify-unit exit-code", false},
		{units.Status{Result: "oom-kill"}, "detail/notify-unit oom-kill", true},
		{exit(contract.MessageAgain, "\x1b[2Ja\nb\u009bc\u202ed\xff"), "[2Ja b c d", true},
		{exit(contract.MessageAgain, strings.Repeat("ü", maxTold)), strings.Repeat("ü", maxTold/2), true},
		{exit(contract.MessageAgain, "\x00\n\t"), "detail/notify-unit exit-code", true},
	} {
		if why, again := outcome(&c.status); why.String() != c.why || again != c.again || !job.Printable(why.String()) {
			t.Errorf("%+v is %q, again %t", c.status, why, again)
		}
	}
}

// If the program could not be started, another try is made, and no file is left behind.
func TestNoUnit(t *testing.T) {
	s, m := newSender(t)
	m.err = errors.New("systemd does not answer")
	n, j := owedMessage(job.Notify{Way: job.NotifyMail})
	if why, again := s.Deliver(t.Context(), n, j, ""); why.Text != "systemd does not answer" || !again {
		t.Errorf("%v, again %t", why, again)
	}
	if left, _ := filepath.Glob(s.Dir + "/*"); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	s.Dir = filepath.Join(s.Dir, "gone")
	if why, again := s.Deliver(t.Context(), n, j, ""); why.IsZero() || !again || m.runs != 1 {
		t.Errorf("without a place for its file: %v, again %t, %d runs", why, again, m.runs)
	}
}

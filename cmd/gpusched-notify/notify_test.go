package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/units/contract"
)

// program makes a mail program from a shell script.
func program(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sendmail")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// Whatever a subject and a name contain, the mail has
// each expected field once, and its text is complete.
func TestLetter(t *testing.T) {
	m := &contract.Message{
		To: "alice@example.org", Host: "gpu 1\r\nX-Evil: 1", ID: "gpusched.4.end.0.5",
		Subject: "job 4 (grün\r\nBcc: bob@example.org\x1b[2J) failed", Body: "Zeile ü\n.\n" + strings.Repeat("long ", 400) + "\n",
	}
	got, err := mailOf(letter(m, time.Unix(0, 0)))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Header) != 9 || got.Header.Get("Bcc") != "" || got.Header.Get("X-Evil") != "" {
		t.Errorf("the header is %q", got.Header)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(got.Header.Get("Subject"))
	if err != nil || strings.ContainsAny(subject, "\r\n\x1b") || !strings.Contains(subject, "grün") {
		t.Errorf("the subject is %q (%v)", subject, err)
	}
	for line := range strings.Lines(string(letter(m, time.Unix(0, 0)))) {
		if len(line) > 200 {
			t.Errorf("a line has %d bytes", len(line))
		}
	}
}

func mailOf(text []byte) (*mail.Message, error) { return mail.ReadMessage(bytes.NewReader(text)) }

// The exit status of the mail program decides whether to
// try again. Its output is reported in one bounded line.
func TestMailProgram(t *testing.T) {
	m := &contract.Message{Way: "mail", To: "alice", Subject: "s", Body: "b"}
	for _, c := range []struct {
		script, want string
		again        bool
	}{
		{"cat >/dev/null; [ \"$*\" = '-i -t' ]", "", false},
		{"printf 'no such\\n\\033[2J user\\n'; exit 67", "status 67: no such [2J user", false},
		{"echo mailbox full; exit 75", "status 75: mailbox full", true},
		{"exit 1", "status 1", true},
		{"yes | head -c 20000000; exit 75", "status 75: y y", true},
		{"kill -9 $$", "status -1", true},
	} {
		err := mailTo(t.Context(), program(t, c.script), m)
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v", c.script, err)
		case err != nil && (exitStatus(err) == contract.MessageAgain) != c.again:
			t.Errorf("%s: ends with %d", c.script, exitStatus(err))
		case err != nil && len(oneLine(err.Error())) > maxLine:
			t.Errorf("%s: %d bytes", c.script, len(err.Error()))
		}
	}
	if err := mailTo(t.Context(), "/nonexistent/sendmail", m); err == nil || exitStatus(err) != contract.MessageRefused {
		t.Errorf("without a mail program: %v", err)
	}
	for _, to := range []string{"", "-oQ/tmp", "a b", "a\nb", "a,b@c"} {
		if err := mailTo(t.Context(), program(t, "exit 0"), &contract.Message{To: to}); err == nil {
			t.Errorf("%q is taken for an address", to)
		}
	}
}

func mailTo(ctx context.Context, program string, m *contract.Message) error {
	return send(ctx, program, m, time.Now())
}

// A mail program that hangs is killed, even if a process that it started keeps its output open.
// That process is left to systemd, which ends all processes of the message's unit.
func TestMailProgramHangs(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	pid := filepath.Join(t.TempDir(), "pid")
	t.Cleanup(func() { _ = exec.Command("sh", "-c", "kill $(cat "+pid+")").Run() })
	err := mailTo(ctx, program(t, "sleep 1000 & echo $! >"+pid+"; exec sleep 1000"), &contract.Message{To: "alice"})
	if err == nil || exitStatus(err) != contract.MessageAgain {
		t.Errorf("a mail program that hangs: %v", err)
	}
}

// The server's answer decides whether to try again. The error never contains the URL.
func TestPost(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, r.Method+" "+r.Header.Get("Content-Type")+" "+string(body))
		code := http.StatusNoContent
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &code)
		if code >= 300 && code < 400 {
			w.Header().Set("Location", "file:///etc/passwd")
		}
		w.WriteHeader(code)
	}))
	defer server.Close()
	for path, want := range map[string]string{
		"/":           "",
		"/200":        "",
		"/302?secret": "redirects (302)",
		"/404?secret": "answered 404 Not Found",
		"/429?secret": "answered 429",
		"/503?secret": "answered 503",
	} {
		err := post(t.Context(), &contract.Message{To: server.URL + path, Body: `{"a":1}`, ID: "x"})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", path, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the URL is told: %v", err)
		}
		var r refusal
		if err != nil && errors.As(err, &r) != (strings.HasPrefix(path, "/3") || strings.HasPrefix(path, "/404")) {
			t.Errorf("%s: wrong decision about another attempt", path)
		}
	}
	if len(got) != 6 || got[0] != `POST application/json {"a":1}` {
		t.Errorf("the server got %q", got)
	}
	server.Close()
	if err := post(t.Context(), &contract.Message{To: server.URL + "/?secret"}); err == nil || strings.Contains(err.Error(), "secret") ||
		exitStatus(err) != contract.MessageAgain {
		t.Errorf("nobody listens: %v", err)
	}
	for _, url := range []string{"file:///etc/passwd", "unix:///run/gpusched/gpusched.sock", "http://", "ftp://a/b", "x"} {
		if err := post(t.Context(), &contract.Message{To: url}); err == nil || exitStatus(err) != contract.MessageRefused {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// A user without a terminal cannot be reached, and another attempt is useless.
func TestUserWithoutTerminal(t *testing.T) {
	if err := write(&contract.Message{Subject: "s"}, 12345, "/proc", "/dev"); err == nil || exitStatus(err) != contract.MessageRefused {
		t.Errorf("a user without a terminal: %v", err)
	}
}

// Only terminals of session leaders outside jobs are found, whatever the leaders' programs are
// called.
func TestSessions(t *testing.T) {
	proc := t.TempDir()
	for pid, p := range map[string]struct{ stat, group string }{
		"10": {"10 (bash) S 1 10 10 34816 10 0", "0::/user.slice/a\n"},
		"11": {"11 (a) b) S 1 11 11 34817 11 0", "0::/user.slice/a\n"},
		"12": {"12 (vim) S 10 12 10 34818 12 0", "0::/user.slice/a\n"},                   // not a session leader
		"13": {"13 (sh) S 1 13 13 34819 13 0", "0::/gpujobs.slice/x/gpujob-5.service\n"}, // in a job
		"14": {"14 (cron) S 1 14 14 0 -1 0", "0::/system.slice\n"},
		"15": {"garbage", ""},
	} {
		dir := filepath.Join(proc, pid)
		if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(dir+"/stat", []byte(p.stat), 0o644), os.WriteFile(dir+"/cgroup", []byte(p.group), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	got := sessions(os.Getuid(), proc)
	if len(got) != 2 || !got[34816] || !got[34817] {
		t.Errorf("terminals %v", got)
	}
	for number, want := range map[uint64]string{34816: "/dev/pts/0", 34817: "/dev/pts/1", 1025: "/dev/tty1", 260: ""} {
		if path := terminalPath("/dev", number); path != want {
			t.Errorf("%d is %q, not %q", number, path, want)
		}
	}
}

// An incomplete message is worth another attempt: the message was removed during the read, and may
// be complete at the next attempt.
func TestIncompleteMessage(t *testing.T) {
	t.Setenv("INVOCATION_ID", "x")
	for text, want := range map[string]int{
		"": contract.MessageAgain, `{"way":"ma`: contract.MessageAgain, "{]": contract.MessageRefused, `{"way":"x"}`: contract.MessageRefused,
	} {
		if err := run(strings.NewReader(text)); err == nil || exitStatus(err) != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// attacks are names that some mail readers or terminals would interpret instead of showing.
var attacks = []string{
	"x\r\nBcc: bob@example.org", "x\nX-Evil: 1\n\nbody", "\r", "x\x00y", "\x1b[2J\x1b]0;owned\a", "\x1bP+q\x1b\\", "\u009b2J\u009d0;owned\u009c",
	"\u202egpj.exe", "a\u2028b\u2029c", "\xff\xfe\x9b2J", "=?utf-8?q?=0D=0ABcc:_b@c?=", strings.Repeat("\nX: ", 400), "\u200b\ufeff",
}

// Invariant 1: whatever a subject, a host and an id contain, a mail has nine header fields, each
// once and on one line. The body follows.
func TestAttacksOnMails(t *testing.T) {
	for _, name := range attacks {
		m := &contract.Message{To: "alice@example.org", Host: name, ID: "gpusched.1.end.0.1", Subject: "job 1 (" + name + ")", Body: "all\n" + name + "\n"}
		got, err := mailOf(letter(m, time.Unix(0, 0)))
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		for field, values := range got.Header {
			if len(values) != 1 || field == "Bcc" || strings.HasPrefix(field, "X") || strings.ContainsFunc(values[0], unicode.IsControl) {
				t.Errorf("%q gives the field %q: %q", name, field, values)
			}
		}
		subject, err := new(mime.WordDecoder).DecodeHeader(got.Header.Get("Subject"))
		if err != nil || len(got.Header) != 9 || strings.ContainsFunc(subject, unicode.IsControl) {
			t.Errorf("%q: the subject is %q of %d fields (%v)", name, subject, len(got.Header), err)
		}
	}
}

// A terminal receives one bell and one line of text. A real terminal shows exactly that.
func TestAttacksOnTerminals(t *testing.T) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	path, number := slave(t, master)
	reader := bufio.NewReader(master)
	for _, name := range attacks {
		m := &contract.Message{Subject: "job 1 (" + name + ") completed"}
		if err := writeTo(path, os.Getuid(), number, terminalText(m)); err != nil {
			t.Fatal(err)
		}
		var got []byte
		for bytes.Count(got, []byte("\n")) < 2 { // the message's own two line breaks; the name adds none
			line, err := reader.ReadBytes('\n')
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, line...)
		}
		text, whole := strings.CutSuffix(strings.TrimLeft(string(got), "\r\n"), ") completed\r\r\n")
		if text, ok := strings.CutPrefix(text, "\agpusched: job 1 ("); !ok || !whole || strings.ContainsFunc(text, unicode.IsControl) {
			t.Errorf("%q comes out as %q", name, got)
		}
	}
}

// slave returns the slave side of a pseudo-terminal, which accepts messages.
func slave(t *testing.T, master *os.File) (path string, number uint64) {
	t.Helper()
	n, err := unix.IoctlGetUint32(int(master.Fd()), unix.TIOCGPTN)
	err = errors.Join(err, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	path = fmt.Sprintf("/dev/pts/%d", n)
	var st unix.Stat_t
	if err := errors.Join(err, os.Chmod(path, 0o620), unix.Stat(path, &st)); err != nil {
		t.Fatal(err)
	}
	return path, st.Rdev
}

// Invariant 4: if a webhook of the site fails, the user learns the kind of failure, but not the
// host, the address or the port. If the user's own URL fails, the user learns everything.
func TestSiteWebhooksStayPrivate(t *testing.T) {
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "http://inner.example.org:8443/")
		w.WriteHeader(map[string]int{"/302": 302, "/404": 404, "/503": 503}[r.URL.Path])
	}))
	defer served.Close()
	secret := httptest.NewTLSServer(http.NotFoundHandler()) // its certificate is not trusted
	defer secret.Close()
	silent := "http://" + silentServer(t) + "/"
	for url, want := range map[string]string{
		served.URL + "/302":                "the webhook redirects (302), which is not followed",
		served.URL + "/404":                "the webhook answered 404 Not Found",
		served.URL + "/503":                "the webhook answered 503 Service Unavailable",
		secret.URL:                         "the certificate of the webhook's server is not trusted",
		"http://127.0.0.1:1/hook":          "the webhook's server refused the connection",
		silent:                             "the webhook's server did not answer in time",
		"http://hook.inner.invalid:8443/x": "the webhook's host name was not found",
		"http://127.0.0.1:99999/hook":      "the webhook's server could not be reached",
	} {
		patience := postTimeout
		if url == silent {
			patience = 100 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := post(ctx, &contract.Message{To: url, Body: "{}", ID: "x"})
		cancel()
		if got := publicReason(markSite(err, true)); got != want {
			t.Errorf("of the site's %s is told %q", url, got)
		}
		if own := publicReason(markSite(err, false)); !strings.Contains(own, hostOf(url)) {
			t.Errorf("of a user's own %s is told %q", url, own)
		}
		if exitStatus(markSite(err, true)) != exitStatus(err) {
			t.Errorf("%s: the exit status depends on whose webhook it is", url)
		}
	}
	trust := &tls.CertificateVerificationError{Err: errors.New("inner.example.org")}
	if got := failureKind(fmt.Errorf("inner.example.org: %w", trust)); strings.Contains(got, "inner") {
		t.Errorf("told: %q", got)
	}
}

func hostOf(text string) string {
	u, _ := url.Parse(text)
	return u.Hostname()
}

// silentServer accepts connections and never answers.
func silentServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

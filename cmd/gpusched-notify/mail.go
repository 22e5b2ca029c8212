package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"mime/quotedprintable"
	"os/exec"
	"strings"
	"time"
	"unicode"

	"github.com/gpusched/gpusched/units/contract"
)

// mailProgram is the path that every mail system on Linux provides.
const mailProgram = "/usr/sbin/sendmail"

// Exit statuses of sendmail(8), from sysexits.h.
const (
	exUsage       = 64 // the lowest of them
	exUnavailable = 69
	exTempFail    = 75
	exConfig      = 78 // the highest of them
)

// send passes the message to the machine's mail program. The mail program reads the recipient's
// address from the header, because every user can see a program's arguments. Every field is one
// line and the address is checked. Nothing in the mail can therefore name another recipient.
func send(ctx context.Context, program string, m *contract.Message, now time.Time) error {
	if m.To == "" || strings.HasPrefix(m.To, "-") || strings.ContainsAny(m.To, " ,;:<>\"\\()[]\t\r\n\x00") {
		return refused("%q is not an address", oneLine(m.To))
	}
	var said bounded
	cmd := exec.CommandContext(ctx, program, "-i", "-t")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(letter(m, now)), &said, &said
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return refused("%s is not installed on this machine", program)
	case ctx.Err() != nil:
		return fmt.Errorf("%s did not end within %v", program, sendTimeout)
	case !errors.As(err, &exit):
		return fmt.Errorf("%s: %w", program, err)
	}
	text := fmt.Sprintf("%s ended with status %d", program, exit.ExitCode())
	if what := oneLine(string(said.kept)); what != "" {
		text += ": " + what
	}
	if c := exit.ExitCode(); c >= exUsage && c <= exConfig && c != exUnavailable && c != exTempFail { // permanent errors
		return refused("%s", text)
	}
	return errors.New(text)
}

// letter returns the mail. In the header, all user-chosen text is encoded.
func letter(m *contract.Message, now time.Time) []byte {
	var b bytes.Buffer
	field := func(name, value string) { fmt.Fprintf(&b, "%s: %s\n", name, oneLineOf(value)) }
	field("To", m.To)
	field("Subject", mime.QEncoding.Encode("utf-8", escapeEncodedWords(oneLineOf("[gpusched] "+m.Subject))))
	field("Date", now.Format(time.RFC1123Z))
	field("Message-ID", "<"+m.ID+"@"+hostPart(m.Host)+">")
	field("Auto-Submitted", "auto-generated")
	field("Precedence", "bulk")
	field("MIME-Version", "1.0")
	field("Content-Type", "text/plain; charset=utf-8")
	field("Content-Transfer-Encoding", "quoted-printable")
	b.WriteByte('\n')
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(m.Body)) // a buffer never fails
	_ = w.Close()
	return bytes.ReplaceAll(b.Bytes(), []byte("\r\n"), []byte("\n"))
}

// oneLineOf replaces line breaks and other control and formatting characters
// with spaces. The result is safe in a header field or on a terminal. Some
// terminals read U+009B as the beginning of an escape sequence.
func oneLineOf(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// escapeEncodedWords changes text that looks like an encoded
// word (RFC 2047). Mail readers then do not decode it.
func escapeEncodedWords(s string) string { return strings.ReplaceAll(s, "=?", "= ?") }

// hostPart replaces the characters of a host name that are not allowed in a Message-ID.
func hostPart(host string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, host)
}

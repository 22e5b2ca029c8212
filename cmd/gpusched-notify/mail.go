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

// mailProgram is where every mail system of Linux has a program of this name.
const mailProgram = "/usr/sbin/sendmail"

// Exit statuses of sendmail(8), from sysexits.h.
const (
	exUsage       = 64 // the first
	exUnavailable = 69
	exTempFail    = 75
	exConfig      = 78 // the last
)

// send hands the message to the machine's mail program, which takes the address from the
// header, since everybody can read arguments. Every field is one line, and the address has
// been looked at, so that nothing in the letter can name another.
func send(ctx context.Context, program string, m *contract.Message, now time.Time) error {
	if m.To == "" || strings.HasPrefix(m.To, "-") || strings.ContainsAny(m.To, " ,;:<>\"\\()[]\t\r\n\x00") {
		return refused("%q is no address", oneLine(m.To))
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
		return refused("there is no %s on this machine", program)
	case ctx.Err() != nil:
		return fmt.Errorf("%s did not end within %v", program, sendTime)
	case !errors.As(err, &exit):
		return fmt.Errorf("%s: %w", program, err)
	}
	text := fmt.Sprintf("%s ended with status %d", program, exit.ExitCode())
	if what := oneLine(string(said.kept)); what != "" {
		text += ": " + what
	}
	if c := exit.ExitCode(); c >= exUsage && c <= exConfig && c != exUnavailable && c != exTempFail { // the status stays
		return refused("%s", text)
	}
	return errors.New(text)
}

// letter is the mail: its header, in which everything that people chose is encoded, and
// its text.
func letter(m *contract.Message, now time.Time) []byte {
	var b bytes.Buffer
	field := func(name, value string) { fmt.Fprintf(&b, "%s: %s\n", name, oneLineOf(value)) }
	field("To", m.To)
	field("Subject", mime.QEncoding.Encode("utf-8", undecoded(oneLineOf("[gpusched] "+m.Subject))))
	field("Date", now.Format(time.RFC1123Z))
	field("Message-ID", "<"+m.ID+"@"+hostPart(m.Host)+">")
	field("Auto-Submitted", "auto-generated")
	field("Precedence", "bulk")
	field("MIME-Version", "1.0")
	field("Content-Type", "text/plain; charset=utf-8")
	field("Content-Transfer-Encoding", "quoted-printable")
	b.WriteByte('\n')
	w := quotedprintable.NewWriter(&b)
	_, _ = w.Write([]byte(m.Body)) // into memory
	_ = w.Close()
	return bytes.ReplaceAll(b.Bytes(), []byte("\r\n"), []byte("\n"))
}

// oneLineOf keeps ends of lines, and whatever else moves a cursor or turns text around, out
// of a field or a line for a terminal. Some terminals take U+009B for an escape sequence.
func oneLineOf(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// undecoded is a text that mail readers show as it is: what of it is an encoded word already
// (RFC 2047), and could be anything once decoded, is none.
func undecoded(s string) string { return strings.ReplaceAll(s, "=?", "= ?") }

// hostPart is the name of a machine as it may stand in a Message-ID.
func hostPart(host string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, host)
}

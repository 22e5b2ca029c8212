package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/gpusched/gpusched/units/contract"
)

// Set by the linker.
var (
	version = "devel"
	commit  = ""
)

// sendTimeout is the time limit for sending. The time limit of the unit is a little longer.
const sendTimeout = 90 * time.Second

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("gpusched-notify", version, commit)
		return
	}
	if len(os.Args) != 1 {
		fmt.Fprintln(os.Stderr, "usage: gpusched-notify <MESSAGE (systemd runs it for the scheduler)")
		os.Exit(2)
	}
	err := run(os.Stdin)
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "gpusched-notify:", err)
	reportStatus(os.Getenv("NOTIFY_SOCKET"), publicReason(err))
	os.Exit(exitStatus(err))
}

func run(in io.Reader) error {
	if os.Geteuid() == 0 && os.Getenv("INVOCATION_ID") == "" { // started by hand, not for a job of root
		return refused("it must not run as root outside a unit")
	}
	var m contract.Message
	err := json.NewDecoder(io.LimitReader(in, contract.MaxMessageBytes)).Decode(&m)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // the message was removed during the read
		return fmt.Errorf("the message is incomplete: %w", err)
	}
	if err != nil {
		return refused("the message cannot be read: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), sendTimeout)
	defer cancel()
	switch m.Way {
	case "mail":
		return send(ctx, mailProgram, &m, time.Now())
	case "webhook":
		return markSite(post(ctx, &m), m.OfSite)
	case "terminal":
		return write(&m, os.Getuid(), "/proc", "/dev")
	}
	return refused("%q is not a way to send a message", m.Way)
}

// A refusal is an error that another attempt would not fix.
type refusal struct{ error }

func (e refusal) Unwrap() error { return e.error }

func refused(format string, args ...any) error { return refusal{fmt.Errorf(format, args...)} }

func exitStatus(err error) int {
	var r refusal
	if errors.As(err, &r) {
		return contract.MessageRefused
	}
	return contract.MessageAgain
}

// reportStatus reports the failure to the service manager, in one line that every user can read.
func reportStatus(socket, what string) {
	if socket == "" {
		return
	}
	conn, dialErr := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if dialErr != nil {
		return
	}
	defer conn.Close()
	_, _ = conn.Write([]byte("STATUS=" + oneLine(what)))
}

// maxLine is the maximum length in bytes of a line that quotes another program's output.
const maxLine = 200

// oneLine joins a text into one line without control characters, and shortens it.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(oneLineOf(s)), " ")
	if len(s) > maxLine {
		s = strings.ToValidUTF8(s[:maxLine], "")
	}
	return s
}

// bounded keeps the beginning of the written text and drops the rest.
type bounded struct{ kept []byte }

func (b *bounded) Write(p []byte) (int, error) {
	if room := 4*maxLine - len(b.kept); room > 0 {
		b.kept = append(b.kept, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

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

// sendTime is how long sending may take. The unit has a little more.
const sendTime = 90 * time.Second

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("gpusched-notify", version, commit)
		return
	}
	if len(os.Args) != 1 {
		fmt.Fprintln(os.Stderr, "usage: gpusched-notify <MESSAGE (systemd runs it for the scheduler; not for people)")
		os.Exit(2)
	}
	err := run(os.Stdin)
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "gpusched-notify:", err)
	tell(os.Getenv("NOTIFY_SOCKET"), told(err))
	os.Exit(exitStatus(err))
}

func run(in io.Reader) error {
	if os.Geteuid() == 0 && os.Getenv("INVOCATION_ID") == "" { // by hand; root's own jobs are root's
		return refused("it is for a unit of the job's user")
	}
	var m contract.Message
	err := json.NewDecoder(io.LimitReader(in, contract.MaxMessageBytes)).Decode(&m)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // it was taken away under our feet
		return fmt.Errorf("what it is to send is not whole: %w", err)
	}
	if err != nil {
		return refused("what it is to send can't be read: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), sendTime)
	defer cancel()
	switch m.Way {
	case "mail":
		return send(ctx, mailProgram, &m, time.Now())
	case "webhook":
		return posted(post(ctx, &m), m.OfSite)
	case "terminal":
		return write(&m, os.Getuid(), "/proc", "/dev")
	}
	return refused("there is no way %q to send a message", m.Way)
}

// refusal is an error that no further try mends.
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

// tell has the service manager know what went wrong, in a line, which everybody can read.
func tell(socket, what string) {
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

// maxLine bounds a line that is made of what others say.
const maxLine = 200

// oneLine is a text without ends of lines and other control characters, shortened.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(oneLineOf(s)), " ")
	if len(s) > maxLine {
		s = strings.ToValidUTF8(s[:maxLine], "")
	}
	return s
}

// bounded keeps the first bytes of what is written to it, and takes the rest.
type bounded struct{ kept []byte }

func (b *bounded) Write(p []byte) (int, error) {
	if room := 4*maxLine - len(b.kept); room > 0 {
		b.kept = append(b.kept, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

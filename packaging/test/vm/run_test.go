package vm

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestQuote(t *testing.T) {
	for _, argv := range [][]string{
		{"a"}, {"a b", ""}, {"it's", `"$HOME" \ $(x)`, "new\nline"}, {"'", "''"}, {"*", "~", ";", "-n"},
	} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\0' `+quote(argv)).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); !slices.Equal(got, argv) {
			t.Errorf("a shell reads %q as %q", argv, got)
		}
	}
}

// Only the line READY=1 ends the wait. This line may be anywhere in a message.
func TestReadReady(t *testing.T) {
	for _, ready := range []string{"READY=1", "STATUS=x\nREADY=1\n"} {
		path := filepath.Join(t.TempDir(), "notify")
		conn, err := listenReady(path)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		from, err := net.Dial("unixgram", path)
		if err != nil {
			t.Fatal(err)
		}
		defer from.Close()
		for _, other := range []string{"READY=10", "XREADY=1", "STATUS=x"} {
			if _, err := from.Write([]byte(other)); err != nil {
				t.Fatal(err)
			}
		}
		conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if err := readReady(conn); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("before it is ready: %v", err)
		}
		if _, err := from.Write([]byte(ready)); err != nil {
			t.Fatal(err)
		}
		conn.SetReadDeadline(time.Now().Add(time.Minute))
		if err := readReady(conn); err != nil {
			t.Errorf("%q: %v", ready, err)
		}
	}
}

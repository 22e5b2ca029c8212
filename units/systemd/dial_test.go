package systemd

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"path/filepath"
	"testing"

	"github.com/godbus/dbus/v5"
)

// We accept no file descriptors from a bus: anybody on it could send some, and nobody here would
// close them.
func TestNoDescriptorsAreTaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	said := make(chan string)
	go func() {
		c, err := l.Accept()
		if err != nil {
			said <- err.Error()
			return
		}
		defer c.Close()
		var all bytes.Buffer
		authenticate(bufio.NewReader(io.TeeReader(c, &all)), c)
		said <- all.String()
	}()
	conn, err := dialSocket("unix:path=" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.Auth([]dbus.Auth{dbus.AuthExternal("0")}); err != nil {
		t.Error(err)
	}
	if got := <-said; !bytes.Contains([]byte(got), []byte("BEGIN")) || bytes.Contains([]byte(got), []byte("NEGOTIATE_UNIX_FD")) {
		t.Errorf("we said %q", got)
	}
}

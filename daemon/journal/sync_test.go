package journal

import (
	"bufio"
	"context"
	"net"
	"path/filepath"
	"testing"
)

// varlink is a journald that answers only after a channel is closed.
func varlink(t *testing.T, reply string, let <-chan struct{}) (s *Syncer, asked <-chan string) {
	path := filepath.Join(t.TempDir(), "journal")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	calls := make(chan string, 10)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			call, _ := bufio.NewReader(conn).ReadString(0)
			calls <- call
			<-let
			_, _ = conn.Write([]byte(reply + "\x00"))
			conn.Close()
		}
	}()
	return &Syncer{path: path}, calls
}

// Callers that ask while journald is busy share one request, which is made next.
func TestSyncIsShared(t *testing.T) {
	let := make(chan struct{})
	s, asked := varlink(t, `{"parameters":{}}`, let)
	first := s.join()
	if call := <-asked; call != `{"method":"io.systemd.Journal.Synchronize"}`+"\x00" {
		t.Errorf("journald is asked %q", call)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if err := s.Sync(gone); err == nil {
		t.Error("who has gone was answered")
	}
	next := s.join()
	if next == first {
		t.Error("who asks while journald is busy shares a request that began before")
	}
	for range 20 {
		if s.join() != next {
			t.Error("who asks while journald is busy does not share the next request")
		}
	}
	close(let)
	<-first.done
	if err := s.Sync(t.Context()); err != nil {
		t.Error(err)
	}
	<-next.done
	if first.err != nil || next.err != nil {
		t.Error(first.err, next.err)
	}
}

func TestSyncThatFails(t *testing.T) {
	let := make(chan struct{})
	close(let)
	s, _ := varlink(t, `{"error":"org.varlink.service.PermissionDenied"}`, let)
	if err := s.Sync(t.Context()); err == nil {
		t.Error("a refusal is no error")
	}
	if err := (&Syncer{path: filepath.Join(t.TempDir(), "none")}).Sync(t.Context()); err == nil {
		t.Error("no journald is no error")
	}
}

package journal

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// syncTime is the time to wait for journald, whose disk may be slow.
const syncTime = 5 * time.Second

// A Syncer makes journald write all messages that it has received.
// Many callers may ask at the same time, but only one request to journald runs at a time.
// Each caller gets the result of a request that began after the caller asked.
type Syncer struct {
	path string // path of journald's socket

	busy sync.Mutex // held while a request runs
	mu   sync.Mutex // guards next
	next *syncRequest
}

// syncRequest is a request to journald that callers wait for.
type syncRequest struct {
	done chan struct{}
	err  error
}

// NewSyncer returns a Syncer for this machine's journald, which answers only root.
func NewSyncer() *Syncer { return &Syncer{path: "/run/systemd/journal/io.systemd.journal"} }

// Sync waits until the journal has everything that programs printed before the call, and all its
// readers can see it.
func (s *Syncer) Sync(ctx context.Context) error {
	turn := s.join()
	select {
	case <-turn.done:
		return turn.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join returns the request that runs next. The first caller that joins a request starts it.
func (s *Syncer) join() *syncRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = &syncRequest{done: make(chan struct{})}
		go s.run(s.next)
	}
	return s.next
}

func (s *Syncer) run(turn *syncRequest) {
	s.busy.Lock()
	defer s.busy.Unlock()
	s.mu.Lock()
	s.next = nil
	s.mu.Unlock()
	turn.err = s.ask()
	close(turn.done)
}

// ask calls journald by the protocol varlink: JSON documents that each end with a NUL byte.
func (s *Syncer) ask() error {
	conn, err := net.DialTimeout("unix", s.path, syncTime)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(syncTime))
	if _, err := conn.Write([]byte(`{"method":"io.systemd.Journal.Synchronize"}` + "\x00")); err != nil {
		return err
	}
	reply, err := bufio.NewReader(conn).ReadString(0)
	if err == nil && strings.Contains(reply, `"error"`) {
		err = fmt.Errorf("journald refused to synchronize: %q", reply)
	}
	return err
}

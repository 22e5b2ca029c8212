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

// syncTime is how long to wait for journald, whose disk may be slow.
const syncTime = 5 * time.Second

// A Syncer has journald write down what was sent to it. Many may ask at once: each is answered by a request that
// begins after it asked, and one is under way at a time.
type Syncer struct {
	path string // of journald's socket

	busy sync.Mutex // held for the request under way
	mu   sync.Mutex // guards next
	next *syncing
}

// syncing is a request to journald, and who waits for it.
type syncing struct {
	done chan struct{}
	err  error
}

// NewSyncer returns a Syncer for the journald of this machine, which root alone may ask.
func NewSyncer() *Syncer { return &Syncer{path: "/run/systemd/journal/io.systemd.journal"} }

// Sync returns when all that programs had printed to the journal before is in it, where everybody who may can read it.
func (s *Syncer) Sync(ctx context.Context) error {
	turn := s.join()
	select {
	case <-turn.done:
		return turn.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join returns the request that begins next. Whoever is the first to join it has it run.
func (s *Syncer) join() *syncing {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = &syncing{done: make(chan struct{})}
		go s.run(s.next)
	}
	return s.next
}

func (s *Syncer) run(turn *syncing) {
	s.busy.Lock()
	defer s.busy.Unlock()
	s.mu.Lock()
	s.next = nil
	s.mu.Unlock()
	turn.err = s.ask()
	close(turn.done)
}

// ask calls journald by varlink: documents of JSON that end with a NUL.
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

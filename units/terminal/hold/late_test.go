package hold

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gpusched/gpusched/units/terminal"
)

// A liveJournal is a journal that can be read while it is written.
type liveJournal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *liveJournal) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *liveJournal) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// withLaggard returns a holder with a client that has no room for more pieces.
func withLaggard() (h *holder, late *client, out *liveJournal) {
	out, late = &liveJournal{}, &client{pieces: make(chan []byte, 1)}
	h = &holder{output: out, begun: make(chan struct{}), rows: 24, cols: 80, clients: map[*client]bool{late: true}}
	late.pieces <- terminal.Encode(terminal.Data, []byte("not read"))
	return h, late, out
}

// While the holder waits for a client that does not read a piece of output, the other clients and
// the journal already have that piece (invariant 2).
func TestJournalBeforeTheLaggards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, late, out := withLaggard()
		reader := &client{pieces: make(chan []byte, maxPieces)}
		h.clients[reader] = true
		master, program := io.Pipe()
		go h.copyFrom(master)
		_, _ = program.Write([]byte("last words"))
		synctest.Wait() // the holder waits for the laggard
		if out.String() != "last words" || len(reader.pieces) != 1 {
			t.Errorf("the journal has %q, who reads %d pieces", out.String(), len(reader.pieces))
		}
		<-late.pieces // the laggard reads again, in time
		synctest.Wait()
		if piece := <-late.pieces; !strings.HasSuffix(string(piece), "last words") {
			t.Errorf("who was late has %q", piece)
		}
		program.Close()
		synctest.Wait()
	})
}

// If a command ends while the holder waits for a client, the journal still has all of its output,
// even what was still in the terminal.
func TestEndBesideALaggard(t *testing.T) {
	h, _, out := withLaggard()
	script := "printf '%09999d\\n' 0; echo last" // part of it has been read when the command ends
	if _, err := h.run([]string{"sh", "-c", script}, make(chan os.Signal), nil); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasSuffix(got, "0\r\nlast\r\n") {
		t.Errorf("the journal has %d bytes, at the end %q", len(got), got[max(0, len(got)-40):])
	}
}

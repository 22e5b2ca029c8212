package hold

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
		go h.show([]byte("last words"))
		synctest.Wait() // the holder waits for the laggard
		if out.String() != "last words" || len(reader.pieces) != 1 {
			t.Errorf("the journal has %q, who reads %d pieces", out.String(), len(reader.pieces))
		}
		<-late.pieces // the laggard reads again, in time
		synctest.Wait()
		if piece := <-late.pieces; !strings.HasSuffix(string(piece), "last words") {
			t.Errorf("who was late has %q", piece)
		}
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

// What a command wrote before its end is read even if the reader runs only after the deadline, and
// another process keeps the output open.
func TestReadAfterTheDeadline(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	_, _ = w.WriteString("last words")
	_ = r.SetReadDeadline(time.Now())
	var got string
	copyOutput(r, func(piece []byte) { got += string(piece) })
	if got != "last words" {
		t.Errorf("%q", got)
	}
}

// A slowWriter delays each write.
type slowWriter struct {
	liveJournal
	by time.Duration
}

func (w *slowWriter) Write(b []byte) (int, error) {
	<-time.After(w.by)
	return w.liveJournal.Write(b)
}

// However late the holder reads the output, a client and the journal have all of it before the
// client learns of the end.
func TestEndAfterAllOutput(t *testing.T) {
	c, out := &client{pieces: make(chan []byte, maxPieces)}, &slowWriter{by: 3 * leftOpen}
	h := &holder{output: out, begun: make(chan struct{}), rows: 24, cols: 80, clients: map[*client]bool{c: true}}
	if _, err := h.run([]string{"sh", "-c", "printf '%05999d\\n' 0; echo last; exit 3"}, make(chan os.Signal), nil); err != nil {
		t.Fatal(err)
	}
	shown := ""
	for piece := range c.pieces {
		shown += string(piece)
	}
	if want := "last\r\n" + string(terminal.Encode(terminal.Ended, []byte{3})); !strings.HasSuffix(shown, want) {
		t.Errorf("the client has %d bytes, at the end %q", len(shown), shown[max(0, len(shown)-40):])
	}
	if got := out.String(); !strings.HasSuffix(got, "0\r\nlast\r\n") {
		t.Errorf("the journal has %d bytes", len(got))
	}
}

// A client that attaches after the command has ended gets the last output, and learns how the
// command ended.
func TestAttachAfterTheEnd(t *testing.T) {
	h := &holder{}
	h.offer([]byte("last words"), nil)
	h.tellEnd(3)
	c := &client{pieces: make(chan []byte, maxPieces)}
	if !h.attach(c, func() {}) {
		t.Fatal("it is refused")
	}
	shown := ""
	for piece := range c.pieces {
		shown += string(piece)
	}
	want := terminal.Encode(terminal.Data, []byte("last words"))
	if shown != string(append(want, terminal.Encode(terminal.Ended, []byte{3})...)) {
		t.Errorf("%q", shown)
	}
}

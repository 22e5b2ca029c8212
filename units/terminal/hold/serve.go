package hold

import (
	"encoding/json"
	"io"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/sandbox"
	"github.com/gpusched/gpusched/units/terminal"
)

const (
	greetingTime = 5 * time.Second  // how long a client may take to say what it wants
	writeTime    = 10 * time.Second // and, where the job would wait for it, to take one piece

	// refusedPause is how long nobody is let in after one who may not be: anybody can
	// connect, as often as they like, and it is the job's time that passes.
	refusedPause = time.Millisecond
)

// accept lets clients in as long as the socket listens. The first that attaches is told to
// attached.
func (h *holder) accept(fd int, attached chan<- struct{}) {
	for {
		conn, _, err := unix.Accept4(fd, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		if err == unix.EINTR || err == unix.ECONNABORTED {
			continue
		}
		if err == unix.EINVAL { // nobody listens any more
			return
		}
		if err != nil { // no descriptors, say: those who are here go on
			time.Sleep(time.Second)
			continue
		}
		peer, err := sandbox.PeerOf(conn)
		if err != nil || !h.admits(peer.UID) {
			unix.Close(conn)
			time.Sleep(refusedPause)
			continue
		}
		go h.serve(os.NewFile(uintptr(conn), "client"), peer, attached)
	}
}

// takesSandboxed reports whether the site lets processes in sandboxes into the job with this
// environment.
func takesSandboxed(environ []string) bool {
	return slices.Contains(environ, contract.SandboxVariable+"="+contract.SandboxAllowed)
}

// admitted reports whether a user may be a client of a job's terminal (invariant 1).
func admitted(peer int) bool { return mayEnter(peer, os.Getuid()) }

func mayEnter(peer, own int) bool { return peer == own || peer == 0 }

// bars returns why a client may not come in though its user may: it is in a sandbox that
// the job is not in, and would be out of it here (invariant 6).
func (h *holder) bars(peer sandbox.Peer) string {
	if h.sandboxed {
		return ""
	}
	own, err := sandbox.ReferenceTo(os.Getpid())
	if err != nil {
		return "its own restrictions can't be read: " + err.Error()
	}
	found, err := sandbox.Look(peer, own)
	switch {
	case err != nil:
		return "it can't be told whether the process that asks is in a sandbox: " + err.Error()
	case found.Restricted != "":
		return "processes in a sandbox may not enter this job; this process " + found.Restricted
	}
	return ""
}

// serve is the life of one client.
func (h *holder) serve(conn *os.File, peer sandbox.Peer, attached chan<- struct{}) {
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(greetingTime))
	kind, content, err := terminal.Read(conn)
	var hello terminal.Greeting
	if err != nil || kind != terminal.Hello || json.Unmarshal(content, &hello) != nil {
		return
	}
	if why := h.bars(peer); why != "" { // not before: a client that is still writing would not read it
		_ = conn.SetWriteDeadline(time.Now().Add(greetingTime))
		_, _ = conn.Write(terminal.Encode(terminal.Barred, []byte(why)))
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	c := &client{pieces: make(chan []byte, maxPieces)}
	if len(hello.Argv) > 0 {
		h.runFor(conn, c, hello)
		return
	}
	if h.noTerminal {
		_, _ = conn.Write(terminal.Encode(terminal.Refused, []byte("it has no terminal")))
		return
	}
	if !h.attach(c, func() { pour(conn, c, writeTime) }) {
		_, _ = conn.Write(terminal.Encode(terminal.Refused, []byte("too many are attached")))
		return
	}
	if hello.Rows > 0 && hello.Cols > 0 {
		h.resize(hello.Rows, hello.Cols)
	}
	if hello.Screen {
		h.mu.Lock()
		h.shown, h.term = true, hello.Term
		h.mu.Unlock()
	}
	if h.screen == nil || hello.Screen {
		select {
		case attached <- struct{}{}:
		default:
		}
	}
	h.listen(conn)
	h.detach(c)
}

// pour writes a client's pieces until no more come or it does not take them; with most
// it has that long for each.
func pour(conn *os.File, c *client, most time.Duration) {
	defer conn.Close()
	for piece := range c.pieces {
		if most > 0 {
			_ = conn.SetWriteDeadline(time.Now().Add(most))
		}
		if _, err := conn.Write(piece); err != nil {
			conn.Close()
			for range c.pieces { // until it is dropped
			}
			return
		}
	}
}

// listen does what an attached client says until it says nothing more, or what nobody
// understands.
func (h *holder) listen(conn io.Reader) {
	for {
		kind, content, err := terminal.Read(conn)
		if err != nil {
			return
		}
		switch rows, cols, ok := terminal.DecodeSize(content); {
		case kind == terminal.Data:
			<-h.begun
			h.mu.Lock()
			master := h.master
			h.mu.Unlock()
			if master != nil {
				_, _ = master.Write(content)
			}
		case kind == terminal.Size && ok:
			h.resize(rows, cols)
		default:
			return
		}
	}
}

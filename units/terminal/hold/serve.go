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
	greetingTime = 5 * time.Second  // limit for a client's greeting
	writeTime    = 10 * time.Second // limit for one piece, if the job would wait for the client

	// refusedPause is the delay after a peer was refused. Anybody can connect, as often as they
	// like, and each refusal costs the job's time.
	refusedPause = time.Millisecond
)

// accept accepts clients as long as the socket listens. It sends a value to the channel attached
// when the first client attaches.
func (h *holder) accept(fd int, attached chan<- struct{}) {
	for {
		conn, _, err := unix.Accept4(fd, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK)
		if err == unix.EINTR || err == unix.ECONNABORTED {
			continue
		}
		if err == unix.EINVAL { // the socket does not listen any more
			return
		}
		if err != nil { // for example no descriptors: present clients continue
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

// takesSandboxed reports whether the site lets sandboxed processes into the job with this
// environment.
func takesSandboxed(environ []string) bool {
	return slices.Contains(environ, contract.SandboxVariable+"="+contract.SandboxAllowed)
}

// isAdmitted reports whether a user may be a client of the job's terminal (invariant 1).
func isAdmitted(peer int) bool { return mayEnter(peer, os.Getuid()) }

func mayEnter(peer, own int) bool { return peer == own || peer == 0 }

// whyRefused returns why a client may not connect although its user may: the client is in a sandbox
// that the job is not in, and could leave that sandbox through the terminal (invariant 6).
func (h *holder) whyRefused(peer sandbox.Peer) string {
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
		return "it is unknown whether the process that asks is in a sandbox: " + err.Error()
	case found.Restricted != "":
		return "processes in a sandbox may not enter this job; this process " + found.Restricted
	}
	return ""
}

// serve serves one client to its end.
func (h *holder) serve(conn *os.File, peer sandbox.Peer, attached chan<- struct{}) {
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(greetingTime))
	kind, content, err := terminal.Read(conn)
	var hello terminal.Greeting
	if err != nil || kind != terminal.Hello || json.Unmarshal(content, &hello) != nil {
		return
	}
	if why := h.whyRefused(peer); why != "" { // after the greeting, since a client reads nothing before
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
	if !h.attach(c, func() { writeFrames(conn, c, writeTime) }) {
		_, _ = conn.Write(terminal.Encode(terminal.Refused, []byte("too many clients are attached")))
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

// writeFrames writes a client's frames until there are no more or a write fails. The argument limit
// is the time limit for each frame; 0: no limit.
func writeFrames(conn *os.File, c *client, limit time.Duration) {
	defer conn.Close()
	for piece := range c.pieces {
		if limit > 0 {
			_ = conn.SetWriteDeadline(time.Now().Add(limit))
		}
		if _, err := conn.Write(piece); err != nil {
			conn.Close()
			for range c.pieces { // until the holder drops the client
			}
			return
		}
	}
}

// listen handles an attached client's frames until the client leaves or sends an invalid frame.
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

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/creack/pty"

	"github.com/gpusched/gpusched/cmd/gpusched-top/screen"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
)

// command runs gpusched in a terminal of its own, so that it prints as for people, and passes on
// what it prints. There is one at a time.
type command struct {
	program string
	own     bool
	environ []string

	mu   sync.Mutex
	cmd  *exec.Cmd
	file *os.File
}

// open begins a command and returns the first that is to be said of it.
func (c *command) open(o screen.Open, send func(tea.Msg)) tea.Msg {
	args := o.Args
	if c.own {
		args = append([]string{"--user"}, args...)
	}
	cmd := exec.Command(c.program, args...)
	cmd.Env = append(cmd.Env, c.environ...)
	cmd.Env = append(cmd.Env, "NO_COLOR=1", "COLUMNS="+strconv.Itoa(o.Width))
	file, err := c.start(cmd, sizeOf(o.Width, o.Height))
	if err != nil {
		return screen.Printed{Pane: o.Pane, Lines: []string{"it could not be run: " + err.Error()}, Ended: true}
	}
	c.pass(o.Pane, file, send)
	_ = cmd.Wait()
	c.forget(cmd)
	return screen.Printed{Pane: o.Pane, Ended: true}
}

// start begins the command that close ends.
func (c *command) start(cmd *exec.Cmd, size *pty.Winsize) (*os.File, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end()
	file, err := pty.StartWithSize(cmd, size)
	if err == nil {
		c.cmd, c.file = cmd, file
	}
	return file, err
}

// forget leaves a command alone that has ended: its number may be another's by now.
func (c *command) forget(cmd *exec.Cmd) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cmd == cmd {
		_ = c.file.Close()
		c.cmd, c.file = nil, nil
	}
}

func sizeOf(width, height int) *pty.Winsize {
	return &pty.Winsize{Cols: uint16(min(width, 1<<15)), Rows: uint16(min(height, 1<<15))}
}

// resize tells the command how large its terminal is.
func (c *command) resize(width, height int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file != nil {
		_ = pty.Setsize(c.file, sizeOf(width, max(1, height-2)))
	}
}

// close ends the command. Its terminal goes, which ends also what it has started.
func (c *command) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end()
}

// end is close; the caller has the lock.
func (c *command) end() {
	if c.cmd != nil {
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGTERM)
		_ = c.file.Close()
		c.cmd, c.file = nil, nil
	}
}

// breath is between two drawings of what a command prints.
const breath = 50 * time.Millisecond

// pass passes on what is printed, without what a terminal would act on, until there is no more.
func (c *command) pass(number int, from io.Reader, send func(tea.Msg)) {
	var text bytes.Buffer
	clean := term.Harmless(&text)
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		_, _ = clean.Write(buf[:n])
		lines, last := split(&text)
		if len(lines) > 0 || last != "" {
			send(screen.Printed{Pane: number, Lines: lines, Last: last})
		}
		if err != nil { // of a terminal whose program has ended, EIO
			return
		}
		time.Sleep(breath)
	}
}

// split takes the complete lines out of what was printed, and returns what is on the screen of
// the next one. What a carriage return goes back over is not seen.
func split(text *bytes.Buffer) (lines []string, last string) {
	for {
		at := bytes.IndexByte(text.Bytes(), '\n')
		if at < 0 {
			break
		}
		lines = append(lines, seen(string(text.Next(at+1))))
	}
	if text.Len() > maxLine {
		lines = append(lines, seen(string(text.Next(text.Len()))))
	}
	return lines, seen(text.String())
}

// maxLine bounds a line, in bytes.
const maxLine = 64 << 10

// seen is what is left of a line on a screen.
func seen(line string) string {
	line = strings.TrimRight(line, "\r\n")
	if at := strings.LastIndexByte(line, '\r'); at >= 0 {
		line = line[at+1:]
	}
	for {
		at := strings.IndexByte(line, '\b')
		if at < 0 {
			return line
		}
		line = line[:max(0, at-1)] + line[at+1:]
	}
}

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

// A command runs gpusched in its own terminal and passes the output on. Because of the terminal,
// gpusched prints as it does for people. A command runs one program at a time.
type command struct {
	program string
	own     bool
	environ []string

	mu   sync.Mutex
	cmd  *exec.Cmd
	file *os.File
}

// runCommand runs a command and sends its output. It returns the message that says that the command
// ended.
func (c *command) runCommand(o screen.Open, send func(tea.Msg)) tea.Msg {
	args := o.Args
	if c.own {
		args = append([]string{"--user"}, args...)
	}
	cmd := exec.Command(c.program, args...)
	cmd.Env = append(cmd.Env, c.environ...)
	cmd.Env = append(cmd.Env, "NO_COLOR=1", "COLUMNS="+strconv.Itoa(o.Width))
	file, err := c.start(cmd, sizeOf(o.Width, o.Height))
	if err != nil {
		return screen.Printed{Pane: o.Pane, Lines: []string{"cannot run this: " + err.Error()}, Ended: true}
	}
	c.copyOutput(o.Pane, file, send)
	_ = cmd.Wait()
	c.drop(cmd)
	return screen.Printed{Pane: o.Pane, Ended: true}
}

// start ends the previous command and starts a new one.
func (c *command) start(cmd *exec.Cmd, size *pty.Winsize) (*os.File, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked()
	file, err := pty.StartWithSize(cmd, size)
	if err == nil {
		c.cmd, c.file = cmd, file
	}
	return file, err
}

// drop closes the terminal of a command that has ended. After that, nobody may signal the command's
// process id: another process may have the same id.
func (c *command) drop(cmd *exec.Cmd) {
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

// resize sets the size of the command's terminal.
func (c *command) resize(width, height int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file != nil {
		_ = pty.Setsize(c.file, sizeOf(width, max(1, height-2)))
	}
}

// close ends the command. Closing its terminal also ends the processes that it started.
func (c *command) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked()
}

// endLocked does the same as close. The caller holds the lock.
func (c *command) endLocked() {
	if c.cmd != nil {
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGTERM)
		_ = c.file.Close()
		c.cmd, c.file = nil, nil
	}
}

// outputInterval is the delay between two messages that contain output.
const outputInterval = 50 * time.Millisecond

// copyOutput sends output to the screen until the output ends. It removes terminal control
// sequences.
func (c *command) copyOutput(number int, from io.Reader, send func(tea.Msg)) {
	var text bytes.Buffer
	clean := term.Harmless(&text)
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		_, _ = clean.Write(buf[:n])
		lines, last := splitLines(&text)
		if len(lines) > 0 || last != "" {
			send(screen.Printed{Pane: number, Lines: lines, Last: last})
		}
		if err != nil { // read returns EIO once the terminal's program has ended
			return
		}
		time.Sleep(outputInterval)
	}
}

// splitLines removes the complete lines from the output and returns them. It also returns the
// incomplete line at the end, as a terminal would show it: without text that a carriage return
// overwrites.
func splitLines(text *bytes.Buffer) (lines []string, partial string) {
	for {
		at := bytes.IndexByte(text.Bytes(), '\n')
		if at < 0 {
			break
		}
		lines = append(lines, visible(string(text.Next(at+1))))
	}
	if text.Len() > maxLine {
		lines = append(lines, visible(string(text.Next(text.Len()))))
	}
	return lines, visible(text.String())
}

// maxLine is the longest line in bytes; a longer one is split.
const maxLine = 64 << 10

// visible returns the part of a line that a terminal would show.
func visible(line string) string {
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

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// writeTimeout is the time limit for writing to one terminal. A user may have stopped the
// terminal's output.
const writeTimeout = 2 * time.Second

// write writes the message to the terminals of the user's sessions
// outside jobs. It skips terminals that do not accept messages (mesg).
// If no terminal remains, write fails, and another attempt is useless.
func write(m *contract.Message, uid int, proc, dev string) error {
	text := terminalText(m)
	told := 0
	var failed error
	for number := range sessions(uid, proc) {
		err := writeTo(terminalPath(dev, number), uid, number, text)
		if err == nil {
			told++
		} else {
			failed = errors.Join(failed, err)
		}
	}
	switch {
	case told > 0:
		return nil
	case failed != nil:
		return refused("no terminal accepted the message: %s", oneLine(failed.Error()))
	}
	return refused("the user has no terminal open")
}

// terminalText returns a bell, and the message on its own line.
func terminalText(m *contract.Message) []byte {
	return []byte("\r\n\agpusched: " + oneLineOf(m.Subject) + "\r\n")
}

// sessions returns the device numbers of the user's terminals. It finds them through the session
// leaders in /proc. A terminal in a job belongs to the job, not to the user.
func sessions(uid int, proc string) map[uint64]bool {
	list := map[uint64]bool{}
	entries, err := os.ReadDir(proc)
	if err != nil {
		return list
	}
	for _, e := range entries {
		dir := filepath.Join(proc, e.Name())
		var st unix.Stat_t
		if strings.Trim(e.Name(), "0123456789") != "" || unix.Stat(dir, &st) != nil || int(st.Uid) != uid {
			continue
		}
		if n := terminalOf(dir, e.Name()); n != 0 && !inJob(dir) {
			list[n] = true
		}
	}
	return list
}

// terminalOf returns the terminal of a session leader, or 0.
func terminalOf(dir, pid string) uint64 {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return 0
	}
	// The program's name, in parentheses, may contain parentheses and spaces.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 5 || fields[3] != pid { // the fields: state, parent, group, session, terminal
		return 0
	}
	n, err := strconv.ParseInt(fields[4], 10, 32)
	if err != nil {
		return 0
	}
	return uint64(uint32(n))
}

// inJob reports whether a process runs in a job's unit. It returns true if this is unknown.
func inJob(dir string) bool {
	group, err := os.ReadFile(filepath.Join(dir, "cgroup"))
	return err != nil || bytes.Contains(group, []byte("/"+contract.UnitPrefix))
}

// terminalPath returns the path of the terminal with a device number.
func terminalPath(dev string, number uint64) string {
	major, minor := unix.Major(number), unix.Minor(number)
	if major == 4 {
		return filepath.Join(dev, "tty"+strconv.Itoa(int(minor)))
	}
	const firstPTY, lastPTY = 136, 143
	if major >= firstPTY && major <= lastPTY {
		return filepath.Join(dev, "pts", strconv.Itoa(int(major-firstPTY)<<20|int(minor)))
	}
	return ""
}

// writeTo writes to a terminal that belongs to the user and accepts messages.
func writeTo(path string, uid int, number uint64, text []byte) error {
	if path == "" {
		return errors.New("the terminal is of an unknown kind")
	}
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != number || int(st.Uid) != uid:
		return fmt.Errorf("%s is not a terminal of this user", path)
	case st.Mode&0o020 == 0:
		return fmt.Errorf("%s does not accept messages (mesg n)", path)
	}
	until := time.Now().Add(writeTimeout)
	for len(text) > 0 {
		n, err := unix.Write(fd, text)
		text = text[max(n, 0):]
		if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			return &fs.PathError{Op: "write", Path: path, Err: err}
		}
		left := time.Until(until)
		if len(text) > 0 && left <= 0 {
			return fmt.Errorf("the output of %s is stopped", path)
		}
		if len(text) > 0 {
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, int(left.Milliseconds())+1)
		}
	}
	return nil
}

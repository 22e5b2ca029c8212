package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// A mark is a named pipe that commands write a line into as their first instruction. We hold it open for both
// directions from before they begin, so that no command waits for us, and nothing is lost if one comes early.
// (A reader that blocked in open once missed its job. That its open was interrupted as the job came would explain it;
// it was not seen again.)
type mark struct {
	path string
	pipe *os.File
}

// newMark makes a mark that every account may write to and, as a release, read from.
func (b *rig) newMark() (*mark, error) {
	path := filepath.Join(b.dir, fmt.Sprint("mark-", b.next.Add(1)))
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		return nil, fmt.Errorf("mark: %w", err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		return nil, fmt.Errorf("mark: %w", err)
	}
	pipe, err := os.OpenFile(path, os.O_RDWR, 0)
	return &mark{path, pipe}, err
}

func (m *mark) close() {
	m.pipe.Close()
	os.Remove(m.path)
}

// command is what writes the line.
func (m *mark) command() []string { return []string{"/bin/sh", "-c", "echo >" + m.path} }

// begun waits until a command has written its line.
func (m *mark) begun(limit time.Duration) (time.Time, error) {
	if err := m.pipe.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return time.Time{}, fmt.Errorf("mark: %w", err)
	}
	_, err := m.pipe.Read(make([]byte, 1))
	at := time.Now()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = &await.LateError{What: "a command to write to " + m.path, Limit: limit}
	}
	return at, err
}

// release lets a command go that reads a line from the mark.
func (m *mark) release() error {
	_, err := m.pipe.WriteString("\n")
	return err
}

// measure is the time from the call of begin to the first instruction of the command that it begins.
func (b *rig) measure(begin func(*mark) error) (time.Duration, error) {
	m, err := b.newMark()
	if err != nil {
		return 0, err
	}
	defer m.close()
	return b.until(m, func() error { return begin(m) })
}

// until is the time from the call of begin to the line in the mark. Both have their end before it returns.
func (b *rig) until(m *mark, begin func() error) (time.Duration, error) {
	type result struct {
		at  time.Time
		err error
	}
	written := make(chan result, 1)
	from := time.Now()
	go func() {
		at, err := m.begun(b.limits.begin)
		written <- result{at, err}
	}()
	if err := begin(); err != nil {
		m.pipe.Close() // ends the read
		<-written
		return 0, err
	}
	r := <-written
	return r.at.Sub(from), r.err
}

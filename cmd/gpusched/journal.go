package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
)

// lastSystemUID is the highest uid of system accounts. journald gives only
// those above it files of their own.
const lastSystemUID = 999

// journalReadable tells why the job's output cannot be read here, where that is
// certain: journalctl itself would print nothing and say nothing.
func (a *app) journalReadable(j api.Job) error {
	switch {
	case a.uid == 0 || a.openable("*/system.journal"):
		return nil
	case j.UID != a.uid:
		return &api.Error{
			Code: api.CodeForbidden, Message: fmt.Sprintf("the output of job %d is for %s to read", j.ID, j.User),
			Hint: "root and the members of the groups systemd-journal and adm can read it too",
		}
	case !present(filepath.Join(a.journalDirs[0], "*")):
		return &api.Error{
			Code: api.CodeForbidden, Message: "this machine keeps its journal in memory, where users cannot read the output of their jobs",
			Hint: "an administrator changes that with: mkdir -p /var/log/journal && systemctl restart systemd-journald",
		}
	case a.uid <= lastSystemUID:
		return &api.Error{
			Code: api.CodeForbidden, Message: "the output of jobs of system accounts is in the system's journal, which you cannot read",
			Hint: "an administrator lets this account read it by adding it to the group systemd-journal",
		}
	}
	return nil // its own file, which may come only with the first line
}

// openable tells whether some journal file of the pattern can be read.
func (a *app) openable(pattern string) bool {
	for _, dir := range a.journalDirs {
		files, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, file := range files {
			if f, err := os.Open(file); err == nil {
				f.Close()
				return true
			}
		}
	}
	return false
}

func present(pattern string) bool {
	found, _ := filepath.Glob(pattern)
	return len(found) > 0
}

// The end of a job and the end of its output come on different ways: after the
// job's end the output is complete when nothing came for settleTime, and is not
// waited for longer than settleMax.
const (
	settleTime = 500 * time.Millisecond
	settleMax  = 10 * time.Second
)

// followJournal runs journalctl until the job has ended and its output is here.
func (a *app) followJournal(ctx context.Context, path string, argv []string, j api.Job) error {
	cmd := exec.CommandContext(ctx, path, argv...)
	pipe := &watchedWriter{w: a.outputOf(j.UID), flush: a.out.w.Flush, last: time.Now()}
	cmd.Stdout, cmd.Stderr = pipe, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run %q: %w", path, err)
	}
	exited, ended := make(chan error, 1), make(chan error, 1)
	var last api.JobReply
	go func() { exited <- cmd.Wait() }()
	go func() {
		var err error
		last, err = a.client.Wait(ctx, api.FormatID(j.ID), 0)
		ended <- err
	}()
	select {
	case err := <-exited:
		return interruptedOr(ctx, err)
	case err := <-ended:
		pipe.settle(ctx)
		cmd.Process.Signal(syscall.SIGTERM)
		<-exited
		if err != nil {
			return interruptedOr(ctx, err)
		}
	}
	a.out.w.Flush()
	a.note("job %s %s", nameOfJob(j), resultOf(last.Job))
	return nil
}

// copyJournal runs journalctl to its end.
func copyJournal(ctx context.Context, path string, argv []string, out io.Writer) error {
	cmd := exec.CommandContext(ctx, path, argv...)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	if err := cmd.Run(); err != nil {
		return interruptedOr(ctx, fmt.Errorf("run %q: %w", path, err))
	}
	return nil
}

// interruptedOr is the end by Ctrl-C, where it was that.
func interruptedOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// watchedWriter passes text on at once and remembers when that was.
type watchedWriter struct {
	mu    sync.Mutex // guards everything
	w     io.Writer
	flush func() error
	last  time.Time
}

// Write passes the text on.
func (q *watchedWriter) Write(p []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last = time.Now()
	n, err := q.w.Write(p)
	if err == nil {
		err = q.flush()
	}
	return n, err
}

func (q *watchedWriter) quietFor() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	return time.Since(q.last)
}

// settle returns when no text came for settleTime, counted from now on.
func (q *watchedWriter) settle(ctx context.Context) {
	begin := time.Now()
	for time.Since(begin) < settleMax {
		rest := settleTime - min(q.quietFor(), time.Since(begin))
		if rest <= 0 {
			return
		}
		t := time.NewTimer(rest)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
	}
}

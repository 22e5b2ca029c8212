package client

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
)

// oneByOne carries out a command about one job for those of several machines, one after the other.
func (a *app) oneByOne(ctx context.Context, c call, words, hosts []string) (first error) {
	if !isText(c.selected) {
		return usagef("'%s' has one document for each job: ask for one at a time", c.path)
	}
	of := wordsByHost(words)
	for i, host := range hosts {
		if i > 0 {
			a.out.Printf("\n")
		}
		c.ids.set([]string{strings.Join(of[host], ",")})
		err := a.onHost(ctx, c, host)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if code := a.finish(err); code != 0 && first == nil {
			first = exitStatus(code)
		}
	}
	return first
}

// logsOf prints what jobs of several machines printed, each line under its job: what there is machine by machine,
// and what is followed of all at once.
func (a *app) logsOf(ctx context.Context, c *logsCmd, words, hosts []string) error {
	of := wordsByHost(words)
	var turn sync.Mutex
	errs := make([]error, len(hosts))
	ask := func(i int) { errs[i] = a.outputOf(ctx, hosts[i], c.line(of[hosts[i]]), &turn) }
	var all sync.WaitGroup
	for i := range hosts {
		if c.Follow {
			all.Go(func() { ask(i) })
		} else if ctx.Err() == nil {
			ask(i)
		}
	}
	all.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var first error
	for _, err := range errs {
		if code := a.finish(err); code != 0 && first == nil {
			first = exitStatus(code)
		}
	}
	return first
}

// outputOf has the gpusched of a machine print what jobs printed, by lines of which each says whose it is.
func (a *app) outputOf(ctx context.Context, host string, line []string, turn *sync.Mutex) error {
	if host == remote.Here {
		line = append(a.asking(), line...)
	}
	w := remote.Words{Argv: bytesOf(line), Leashed: true, Labelled: true, Called: host}
	word, err := w.Encode()
	if err != nil {
		return usagef("%v", err)
	}
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args = []string{"gpusched", remote.WordsCommand, word}
	if host != remote.Here {
		if err := a.greeted(ctx, host); err != nil {
			return err
		}
		if cmd.Path, err = exec.LookPath("ssh"); err != nil {
			return err
		}
		remote.NeverAsk(cmd)
		cmd.Args = remote.Command(host, false, remote.WordsCommand, word)
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	leash, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	defer leash.Close()
	out, said := &lineWriter{turn: turn, to: a.out}, &lineWriter{turn: turn, to: a.err}
	cmd.Stdout, cmd.Stderr = out, said
	err = cmd.Run()
	out.end()
	said.end()
	return a.sshEnded(ctx, hostName(host), err)
}

// asking are the words before a command that say which scheduler of this machine it asks.
func (a *app) asking() []string {
	switch {
	case a.own:
		return []string{ownFlag}
	case a.on != "":
		return []string{onFlag, a.on}
	}
	return nil
}

// lineWriter writes whole lines, so that those of several machines do not mix within one. On a terminal they are text
// only: some may be of others.
type lineWriter struct {
	turn *sync.Mutex // guards the terminals
	to   *term.Terminal
	rest []byte // without its end
}

// longLine is how much of a line is kept until it ends.
const longLine = 1 << 20

func (l *lineWriter) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	n := bytes.LastIndexByte(l.rest, '\n') + 1
	if n == 0 && len(l.rest) >= longLine {
		n = len(l.rest)
	}
	if n == 0 {
		return len(p), nil
	}
	whole := l.rest[:n]
	l.turn.Lock()
	defer l.turn.Unlock()
	var w io.Writer = l.to.W
	if l.to.TTY {
		w = term.TextOnly(w)
	}
	_, err := w.Write(whole)
	l.rest = slices.Clone(l.rest[n:])
	return len(p), cmp.Or(err, l.to.W.Flush())
}

// end writes a line that has not ended.
func (l *lineWriter) end() {
	if len(l.rest) > 0 {
		_, _ = l.Write([]byte("\n"))
	}
}

// line is the command line of it, for other jobs.
func (c *logsCmd) line(ids []string) []string {
	words := []string{"logs"}
	for _, o := range []struct {
		word  string
		given bool
	}{
		{"--follow", c.Follow}, {fmt.Sprintf("--lines=%d", c.Lines), c.Lines != 0}, {"--failed", c.Failed}, {"--timestamps", c.Times},
		{"--attempt=all", c.Attempt == everyAttempt}, {fmt.Sprintf("--attempt=%d", c.Attempt), c.Attempt > 0},
	} {
		if o.given {
			words = append(words, o.word)
		}
	}
	return append(append(words, "--"), ids...)
}

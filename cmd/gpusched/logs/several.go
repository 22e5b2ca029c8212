package logs

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"sync"

	"github.com/gpusched/gpusched/cmd/gpusched/afar"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/remote"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
)

// OfHosts prints the output of jobs on several machines. Each line begins with the name of its job.
// OfHosts prints one machine after another; with --follow it prints all at once.
func OfHosts(ctx context.Context, a *cli.App, c *Cmd, words, hosts []string) error {
	var mu sync.Mutex
	errs := make([]error, len(hosts))
	ask := func(i int) {
		its := cli.FromAfar{Called: hosts[i], Plain: hosts[i] == afar.PlainHost(a)}
		errs[i] = outputOf(ctx, a, hosts[i], c.line(its.OwnWords(words)), &mu)
	}
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
		if code := a.Finish(err); code != 0 && first == nil {
			first = cli.ExitStatus(code)
		}
	}
	return first
}

// outputOf runs a machine's gpusched to print the output of jobs with labelled lines.
func outputOf(ctx context.Context, a *cli.App, host string, line []string, mu *sync.Mutex) error {
	if host != remote.Here {
		if err := afar.AnswersAt(ctx, a, host); err != nil {
			return err
		}
	}
	cmd, err := commandAt(a, host, append([]string{remote.LabelledCommand, host}, line...))
	if err != nil {
		return afar.AsUsage(err)
	}
	leash, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	defer leash.Close()
	out, said := &lineWriter{mu: mu, to: a.Out}, &lineWriter{mu: mu, to: a.Err}
	cmd.Stdout, cmd.Stderr = out, said
	err = remote.Run(ctx, cmd)
	out.finishLine()
	said.finishLine()
	return afar.SSHEnded(ctx, a, cli.HostName(host), err)
}

// commandAt returns the command that runs gpusched on a machine. For this machine, it runs this
// program.
func commandAt(a *cli.App, host string, words []string) (*exec.Cmd, error) {
	if host != remote.Here {
		return remote.Command(host, false, words...)
	}
	return &exec.Cmd{Path: "/proc/self/exe", Args: slices.Concat([]string{"gpusched"}, afar.Asking(a), words)}, nil
}

// A lineWriter writes whole lines, so that lines from several machines do not mix. On a terminal it
// removes everything except text, since the jobs may belong to other users.
type lineWriter struct {
	mu   *sync.Mutex // guards the output of all machines
	to   *term.Terminal
	rest []byte // the beginning of an unfinished line
}

// longLine is the largest part of an unfinished line that is kept, in bytes.
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
	l.mu.Lock()
	defer l.mu.Unlock()
	var w io.Writer = l.to.W
	if l.to.TTY {
		w = term.TextOnly(w)
	}
	_, err := w.Write(whole)
	l.rest = slices.Clone(l.rest[n:])
	return len(p), cmp.Or(err, l.to.W.Flush())
}

// finishLine ends the last line if it is unfinished.
func (l *lineWriter) finishLine() {
	if len(l.rest) > 0 {
		_, _ = l.Write([]byte("\n"))
	}
}

// line returns the command line of this command, with the given ids instead of its own.
func (c *Cmd) line(ids []string) []string {
	words := []string{"logs"}
	for _, o := range []struct {
		word  string
		given bool
	}{
		{"--follow", c.Follow}, {fmt.Sprintf("--lines=%d", c.Lines), c.Lines != 0}, {"--failed", c.Failed}, {"--timestamps", c.Times},
		{"--attempt=all", c.Attempt == cli.EveryAttempt}, {fmt.Sprintf("--attempt=%d", c.Attempt), c.Attempt > 0},
	} {
		if o.given {
			words = append(words, o.word)
		}
	}
	return append(append(words, "--"), ids...)
}

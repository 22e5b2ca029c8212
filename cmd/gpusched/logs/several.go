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

// OfHosts prints what jobs of several machines printed, each line under its job: what there is machine by machine,
// and what is followed of all at once.
func OfHosts(ctx context.Context, a *cli.App, c *Cmd, words, hosts []string) error {
	var turn sync.Mutex
	errs := make([]error, len(hosts))
	ask := func(i int) {
		its := cli.FromAfar{Called: hosts[i], Plain: hosts[i] == afar.PlainHost(a)}
		errs[i] = outputOf(ctx, a, hosts[i], c.line(its.OwnWords(words)), &turn)
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

// outputOf has the gpusched of a machine print what jobs printed, by lines of which each says whose it is.
func outputOf(ctx context.Context, a *cli.App, host string, line []string, turn *sync.Mutex) error {
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
	out, said := &lineWriter{turn: turn, to: a.Out}, &lineWriter{turn: turn, to: a.Err}
	cmd.Stdout, cmd.Stderr = out, said
	err = remote.Run(ctx, cmd)
	out.end()
	said.end()
	return afar.SSHEnded(ctx, a, cli.HostName(host), err)
}

// commandAt is a command line for the gpusched of a machine, or for that of this one as a process of its own.
func commandAt(a *cli.App, host string, words []string) (*exec.Cmd, error) {
	if host != remote.Here {
		return remote.Command(host, false, words...)
	}
	return &exec.Cmd{Path: "/proc/self/exe", Args: slices.Concat([]string{"gpusched"}, afar.Asking(a), words)}, nil
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

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// A way is one in which a person comes to a command: the words before it.
type way struct {
	name  string
	words []string
	quote bool // the command is one word, for the shell at the other end
}

func (w way) argv(script string) []string {
	if w.quote {
		return append(w.words[:len(w.words):len(w.words)], script)
	}
	return append(w.words[:len(w.words):len(w.words)], "/bin/sh", "-c", script)
}

// ready is what a command prints when it may begin.
const ready = "ready"

// keyPause is between two keys, so that each wakes up who sleeps.
const keyPause = 5 * time.Millisecond

// terminals measures from a key to its echo: in a terminal of this machine, through ssh to
// this machine, and in a job's. All are there at the same time and take turns, key by key.
func (b *rig) terminals(ctx context.Context, keys int) error {
	server, stop, err := b.sshServer(ctx)
	if err != nil {
		return err
	}
	defer stop()
	ways := []way{{name: "a terminal here"}, {name: "gpusched run --tty", words: jobWords("--tty")}}
	if server != nil {
		ways = append(ways, way{name: "ssh -t to this machine", words: append(server, "-tt"), quote: true})
	}
	for _, program := range []struct{ what, script string }{
		{"a program in raw mode echoes it", "stty raw -echo; echo " + ready + "; exec cat"},
		{"the terminal itself does", "echo " + ready + "; exec cat"},
	} {
		all, err := b.echoes(ctx, ways, program.script, keys)
		if err != nil {
			return err
		}
		if _, err := b.as(ctx, "gpusched", "cancel", "name:bench"); err != nil { // who hangs up only leaves it
			return err
		}
		fmt.Printf("\n| from a key to its echo: %s | median, p90, p99 | ratio of medians to ssh |\n|---|---|---|\n", program.what)
		for i, t := range all {
			against := "ssh is not there"
			if server != nil {
				against = ratio(t.quantile(.5), all[len(all)-1].quantile(.5))
			}
			row(ways[i].name, fmt.Sprintf("%s, %s, %s", ms(t.quantile(.5)), ms(t.quantile(.9)), ms(t.quantile(.99))), against)
		}
	}
	return nil
}

// jobWords run a command as a job without a GPU.
func jobWords(more ...string) []string {
	return append([]string{"gpusched", "run", "-q", "-g", "0", "-n", "bench", "--env", "clean"}, append(more, "--")...)
}

// echoes types so many keys in turns at a program that is in a terminal by each of the ways.
func (b *rig) echoes(ctx context.Context, ways []way, script string, keys int) ([]times, error) {
	ctx, stop := await.For(ctx, "the keys to come back", b.limits.many)
	defer stop()
	all := make([]times, len(ways))
	var screens []*screen
	for _, w := range ways {
		s, err := b.open(ctx, w.argv(script))
		if err != nil {
			return nil, err
		}
		defer s.close()
		screens = append(screens, s)
	}
	for i := range keys {
		for k, s := range screens {
			if err := pause(ctx, keyPause); err != nil {
				return nil, err
			}
			from := time.Now()
			if err := s.echo('a' + byte(i%26)); err != nil {
				return nil, fmt.Errorf("%s: %w", ways[k].name, await.Cause(ctx, err))
			}
			all[k] = append(all[k], time.Since(from))
		}
	}
	return all, nil
}

// A screen is a terminal with a program of the submitting account in it.
type screen struct {
	cmd    *exec.Cmd
	master *os.File
	piece  [64 << 10]byte
}

// open begins a program in a terminal and returns when it says that it is ready. The
// program ends with the context, or when its terminal is closed.
func (b *rig) open(ctx context.Context, argv []string) (*screen, error) {
	began, stop := await.For(ctx, strings.Join(argv, " ")+" to begin", b.limits.begin)
	defer stop()
	s := &screen{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...)}
	account, err := user.LookupId(strconv.Itoa(b.uid))
	if err != nil {
		return nil, err
	}
	s.cmd.Dir = "/"
	s.cmd.Env = append(s.cmd.Environ(), "TERM=xterm", "HOME="+account.HomeDir, "USER="+account.Username)
	s.master, err = pty.StartWithAttrs(s.cmd, &pty.Winsize{Rows: 24, Cols: 80}, &syscall.SysProcAttr{
		Setsid: true, Setctty: true,
		Credential: &syscall.Credential{Uid: uint32(b.uid), Gid: uint32(b.uid)},
	})
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { s.master.Close() })
	late := context.AfterFunc(began, func() {
		if errors.Is(began.Err(), context.DeadlineExceeded) {
			s.master.Close()
		}
	})
	defer late()
	if said, err := s.until(ready + "\n"); err != nil {
		s.close()
		return nil, fmt.Errorf("%s: %w after %q", strings.Join(argv, " "), await.Cause(began, err), said)
	}
	return s, nil
}

// until reads what is shown up to a text, after which nothing comes by itself.
func (s *screen) until(text string) (shown []byte, err error) {
	for {
		n, err := s.master.Read(s.piece[:])
		shown = append(shown, s.piece[:n]...)
		if err != nil || bytes.Contains(bytes.ReplaceAll(shown, []byte("\r\n"), []byte("\n")), []byte(text)) {
			return shown, err
		}
	}
}

// echo types a key and returns when it is shown.
func (s *screen) echo(key byte) error {
	if _, err := s.master.Write([]byte{key}); err != nil {
		return err
	}
	for {
		n, err := s.master.Read(s.piece[:])
		if err != nil || bytes.IndexByte(s.piece[:n], key) >= 0 {
			return err
		}
	}
}

// close hangs up on the program.
func (s *screen) close() {
	s.master.Close()
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/parse"
	"github.com/gpusched/gpusched/cmd/gpusched/submit"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/server"
	"github.com/gpusched/gpusched/daemon/server/servertest"
)

// turnedDown is the daemon's answer to every well-formed submission. So the daemon stores no job.
var turnedDown = job.Refuse("never/no-gpus", "well formed")

// fuzzApp returns a function that makes an App. The App's daemon refuses everything.
func fuzzApp(f *testing.F) func() (*cli.App, *bytes.Buffer) {
	socket := filepath.Join(f.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		f.Fatal(err)
	}
	b := &servertest.Backend{Fail: turnedDown}
	s := server.New(server.Options{Backend: func(context.Context) server.Backend { return b }, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	f.Cleanup(func() { cancel(); <-done })
	client := &api.Client{Socket: socket}
	return func() (*cli.App, *bytes.Buffer) {
		var said bytes.Buffer
		return &cli.App{
			Env: cli.Env{
				Out: &term.Terminal{W: bufio.NewWriter(io.Discard)}, Err: &term.Terminal{W: bufio.NewWriter(&said)},
				Environ: []string{"PATH=/bin", "B=\xff"}, Getenv: func(string) string { return "" }, Getwd: func() (string, error) { return "/", nil },
			},
			Session: cli.Session{Client: client},
		}, &said
	}
}

// FuzzCommandLine parses arbitrary command lines. The result must be a command, or an error message
// that any terminal can show. A submission must reach the daemon well formed and as it was typed.
func FuzzCommandLine(f *testing.F) {
	for _, line := range []string{
		"", "list -a", "show 3 --json", "submit -- true", "submit -g 2 --gpu-mem 40G -m 64G -t 2h -n train -- python train.py --lr 1e-3",
		"submit -g 0.5 --spread --max-load 30% --max-used 0.8 x", "submit --array %2 --param lr=1e-3,1e-4 --param seed=1,2 -- train {lr} {seed}",
		"submit --after-ok 3,4-6 --retries 3 --backoff 30s --begin +2h -p low --hold -- -x", "submit -e A=\xff -e B -C /\xff --tag k=v --comment \xff -n \xff \xff",
		"submit --signal USR1@2m --on-timeout requeue --grace 5s --dedup --no-requeue -- x", "submit --param a=\xff -- {a}", "submit --gpu 1 x", "subnit x",
		"cancel 1-3 @~1 name:x", "update 4 --time none --after none --priority -5", "reserve make --gpus 0-3 --from 22:00 --for 8h", "gpu drain 0 --until 'tomorrow 8:00'",
		"wait --timeout 5", "logs -f -n 5 3", "list --user \x1b[31m", "--help", "help submit", "submit --help", "\x1b]0;x\x07",
	} {
		f.Add(strings.ReplaceAll(line, " ", "\n"))
	}
	start := fuzzApp(f)
	f.Fuzz(func(t *testing.T, line string) {
		a, said := start()
		a.Words = cli.WithCommand(strings.Split(line, "\n"))
		helped := false
		parser, err := parse.New(grammarFor(a.Words), io.Discard, func(int) { helped = true })
		if err != nil {
			t.Fatal(err)
		}
		kctx, err := parser.Parse(a.Words)
		switch {
		case helped:
			return
		case err != nil:
			err = parse.Misused(err)
		case parse.CheckWords(kctx, a.Words) != nil:
			err = parse.CheckWords(kctx, a.Words)
		case kctx.Selected() != nil && manual.CommandPath(kctx.Selected()) == "gpusched submit":
			err = submitParsed(t, a, kctx.Selected().Target.Addr().Interface().(*submit.Cmd))
		}
		status := a.Finish(err)
		a.Err.W.Flush()
		for text := range strings.Lines(said.String()) {
			if !job.Printable(strings.TrimSuffix(text, "\n")) {
				t.Fatalf("%q is answered with %q", line, said)
			}
		}
		if (status == 0) != (said.Len() == 0) {
			t.Fatalf("exit status %d with %q", status, said)
		}
	})
}

// submitParsed sends a submission. It returns the mistake that the daemon finds in it, or nil.
func submitParsed(t *testing.T, a *cli.App, c *submit.Cmd) error {
	req, err := c.MakeRequest(t.Context(), a)
	if err != nil {
		return err
	}
	for i, arg := range req.Argv {
		if typed := a.Words[len(a.Words)-len(req.Argv)+i]; arg != typed {
			t.Fatalf("%q was typed and %q is sent", typed, arg)
		}
	}
	for _, e := range c.SetEnv {
		typed := func(w string) bool { return strings.HasSuffix(w, e) }
		if name, _, ok := strings.Cut(e, "="); ok && !slices.ContainsFunc(a.Words, typed) {
			t.Fatalf("variable %q is sent as %q", name, e)
		}
	}
	_, err = a.Client.Submit(t.Context(), req)
	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.CodeUsage && e.Code != api.CodeNever {
		t.Fatalf("%+v: %v", req, err)
	}
	if strings.Contains(e.Message, "unknown field") || strings.Contains(e.Message, "not the JSON") {
		t.Fatalf("the daemon does not understand %+v: %v", req, e)
	}
	if e.Code == api.CodeNever {
		return nil
	}
	return err
}

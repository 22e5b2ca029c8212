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
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/manual"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/server"
	"github.com/gpusched/gpusched/daemon/server/servertest"
)

// turnedDown is what the daemon of the fuzz tests says of every well-formed
// submission, so that it need not remember it.
var turnedDown = job.Refuse("never/no-gpus", "well formed")

// fuzzApp is a run of the program against a daemon that turns everything down.
func fuzzApp(f *testing.F) func() (*app, *bytes.Buffer) {
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
	return func() (*app, *bytes.Buffer) {
		var said bytes.Buffer
		return &app{
			startedWith: startedWith{
				out: &term.Terminal{W: bufio.NewWriter(io.Discard)}, err: &term.Terminal{W: bufio.NewWriter(&said)},
				environ: []string{"PATH=/bin", "B=\xff"}, getenv: func(string) string { return "" }, getwd: func() (string, error) { return "/", nil },
			},
			whomAsked: whomAsked{client: client},
		}, &said
	}
}

// FuzzCommandLine reads any command line. It is a command or a refusal that any
// terminal can show; and a submission reaches the daemon as it was typed and in
// a form that the daemon knows.
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
		a.words = withCommand(strings.Split(line, "\n"))
		helped := false
		parser, err := newParser(grammarFor(a.words), io.Discard, func(int) { helped = true })
		if err != nil {
			t.Fatal(err)
		}
		kctx, err := parser.Parse(a.words)
		switch {
		case helped:
			return
		case err != nil:
			err = misused(err)
		case legible(kctx, a.words) != nil:
			err = legible(kctx, a.words)
		case kctx.Selected() != nil && manual.CommandPath(kctx.Selected()) == "gpusched submit":
			err = submitted(t, a, kctx.Selected().Target.Addr().Interface().(*submitCmd))
		}
		status := a.finish(err)
		a.err.W.Flush()
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

// submitted sends what was typed, and returns what the daemon finds wrong with
// it, nil where that is nothing.
func submitted(t *testing.T, a *app, c *submitCmd) error {
	req, err := c.request(t.Context(), a)
	if err != nil {
		return err
	}
	for i, arg := range req.Argv {
		if typed := a.words[len(a.words)-len(req.Argv)+i]; arg != typed {
			t.Fatalf("%q was typed and %q is sent", typed, arg)
		}
	}
	for _, e := range c.SetEnv {
		typed := func(w string) bool { return strings.HasSuffix(w, e) }
		if name, _, ok := strings.Cut(e, "="); ok && !slices.ContainsFunc(a.words, typed) {
			t.Fatalf("variable %q is sent as %q", name, e)
		}
	}
	_, err = a.client.Submit(t.Context(), req)
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

func FuzzMoment(f *testing.F) {
	for _, seed := range []string{
		"now", "22:00", "22:00:30", "tomorrow", "tomorrow 8:00", "today 23:59", "+2h", "2026-11-22", "2026-11-22T08:00", "2026-11-22 08:00:00",
		"2026-11-22T08:00:00+14:00", "9999-12-31T23:59:59-12:00", "+-1h", "24:00", " 9:00 ", "",
	} {
		f.Add(seed, int64(1_790_000_000))
	}
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		now := time.Unix(unix%(1<<35), 0).UTC()
		at, err := parseMoment(text, now)
		if err != nil || text == "now" {
			return
		}
		if at.Before(now) || at.After(now.Add(job.MaxDuration)) {
			t.Fatalf("%q at %s is %s", text, now, at)
		}
		if year := at.UTC().Year(); year < 1970 || year > 2999 {
			return
		}
		if err := (&job.Change{Begin: &at}).Err(); err != nil {
			t.Fatalf("%q is taken here and refused there: %v", text, err)
		}
	})
}

// FuzzValues reads the values of options that no other package reads.
func FuzzValues(f *testing.F) {
	for _, seed := range []string{"1", "1%", "100%", "0.8", "1.0", "101", "0.005", "USR1@60s", "9@1", "KILL@", "@5", "none", "2h", "k=v", "=v", "kill"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := parsePercent(text); err == nil && (p < 1 || p > 100) {
			t.Errorf("%q is %d%%", text, p)
		}
		if w, err := parseWarning(text); err == nil && (w.signal < 1 || w.signal > 64 || w.before <= 0) {
			t.Errorf("%q is %+v", text, w)
		}
		if s, err := parseSpanOrNone(text); err == nil && (s == 0) != (text == "none") {
			t.Errorf("%q is %d", text, s)
		}
		if list, err := tasksOf("7", text); err == nil && (len(list) < 1 || len(list) > maxTaskRange) {
			t.Errorf("%q is %d tasks", text, len(list))
		}
		name := printableName(text)
		named := job.Submission{Label: job.Label{Name: name}}
		if named.Validate() == nil || !job.Printable(name) || name == "" || len(name) > job.MaxNameBytes {
			t.Errorf("%q is called %q", text, name)
		}
		if !job.Printable(term.Clean(strings.Map(func(r rune) rune {
			if job.Printable(string(r)) || r < ' ' {
				return r
			}
			return -1
		}, text))) {
			t.Errorf("%q is shown as %q", text, term.Clean(text))
		}
	})
}

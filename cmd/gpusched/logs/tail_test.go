package logs

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// A log is read from the start of the attempt. It is not read if another job's output follows.
func TestSeekAttempt(t *testing.T) {
	const of1, of2, other = "\ngpusched: attempt 1 of job 7 begins\n", "\ngpusched: attempt 2 of job 7 begins\n", "\ngpusched: attempt 1 of job 7_3 begins\n"
	for _, c := range []struct {
		text    string
		attempt int
		lines   int
		want    string
		ok      bool
	}{
		{"", 1, 0, "", true}, {"a\n5%\r6%", 1, 0, "a\n5%\r6%", true}, {"a\nb\nc\n", 1, 2, "b\nc\n", true}, {"a\nb\nc", 1, 2, "b\nc", true}, {"a\n", 1, 9, "a\n", true},
		{"old" + of1 + "new\n", 1, 0, "new\n", true}, {"one" + of2 + "x\ntwo\n", 2, 1, "two\n", true}, {"one\n" + of2, 2, 3, "", true},
		{"one\n" + of2 + "two", 1, 0, "one\n" + of2 + "two", true}, {"a\nb\n" + of2 + "two", 1, 1, "b\n" + of2 + "two", true},
		{"one" + other + "x" + of2 + "two", 1, 0, "", false}, {"one" + of2 + "two" + other, 2, 0, "", false},
		{"one", 2, 0, "", false}, {"one" + other + "x", 1, 0, "", false}, {"x" + other + "y" + of1 + "mine", 1, 0, "mine", true},
	} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		at := api.Attempt{Attempt: job.Attempt{Number: c.attempt, PlacedAt: time.Now().Add(-time.Minute)}}
		ok := seekAttempt(file, "7", at, c.lines)
		rest, _ := io.ReadAll(file)
		if ok != c.ok || ok && string(rest) != c.want {
			t.Errorf("%q, attempt %d, %d lines: %v %q", c.text, c.attempt, c.lines, ok, rest)
		}
		file.Close()
	}
}

// If the launcher is about to create a log, the follower waits for that log. Otherwise it does not
// wait.
func TestOwnLogIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "log")
		f := &follower{Printer: &Printer{Cmd: &Cmd{}, App: &cli.App{Env: cli.Env{UID: 7}}}}
		j := api.Job{ID: 5, UID: 7, Private: &api.Private{Program: api.Program{Log: contract.Log{Path: path}}}}
		at := api.Attempt{Attempt: job.Attempt{Number: 1, PlacedAt: time.Now()}}
		time.AfterFunc(time.Second, func() { _ = os.WriteFile(path, []byte("10%\r"), 0o600) })
		file := f.ownLog(t.Context(), j, at)
		if file == nil {
			t.Fatal("a log that comes after a second is not read")
		}
		file.Close()
		at.Number = 2
		if begin := time.Now(); f.ownLog(t.Context(), j, at) != nil || time.Since(begin) > logDelay {
			t.Errorf("an attempt that is not in the log was waited for %s", time.Since(begin))
		}
		if begin := time.Now(); f.ownLog(t.Context(), j, at) != nil || time.Since(begin) > JournalPoll {
			t.Errorf("of a job that began before, it was waited for %s", time.Since(begin))
		}
	})
}

// A log that is older than the attempt is not used before the launcher has written to it. If the
// journal hides the output of several jobs, their logs are followed.
func TestOwnLogOfThisAttempt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("of an earlier job\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[int]bool{1001: false, 62000: true, 998: true} {
		a := &cli.App{Env: cli.Env{UID: uid, JournalDirs: []string{t.TempDir()}}}
		if err := os.Mkdir(filepath.Join(a.JournalDirs[0], "0123"), 0o700); err != nil {
			t.Fatal(err)
		}
		f := &follower{Printer: &Printer{Cmd: &Cmd{}, App: a, Many: true}}
		j := api.Job{ID: 5, UID: uid, Private: &api.Private{Program: api.Program{Log: contract.Log{Path: path}}}}
		file := f.ownLog(t.Context(), j, api.Attempt{Attempt: job.Attempt{Number: 1}})
		if (file != nil) != want {
			t.Errorf("uid %d: %v", uid, file)
		}
		file.Close()
		later := time.Now().Add(2 * logGrain)
		if file := f.ownLog(t.Context(), j, api.Attempt{Attempt: job.Attempt{Number: 1, PlacedAt: later}}); file != nil {
			t.Errorf("uid %d: what an earlier job left is followed", uid)
		}
	}
}

// The output of an earlier job or of the next attempt in the same log is left out. Output that
// another job writes at the same time can't be recognized.
func TestCopyNewKeepsToOneAttempt(t *testing.T) {
	own, next, other := contract.AttemptLine("7_1", "1"), contract.AttemptLine("7_1", "2"), contract.AttemptLine("8", "1")
	for text, want := range map[string]string{
		"": "", "a\n5%": "a\n5%", "a" + next + "b": "a", next: "", "old" + own + "a": "a", "a" + other + "b": "a" + other + "b",
	} {
		var b bytes.Buffer
		n, again, err := copyNew(&b, strings.NewReader(text), "7_1", 1)
		if b.String() != want || n != len(want) || again != strings.Contains(text, next) || err != nil {
			t.Errorf("%q: %q, %d, %t, %v", text, b.String(), n, again, err)
		}
	}
}

func TestNoticesOnly(t *testing.T) {
	const text = "loss 1\ngpusched: 30 s are left\nnot gpusched: x\ngpusched: over memory\n"
	for size := 1; size < len(text); size++ {
		var b bytes.Buffer
		w := &noticesOnly{w: &b}
		for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
			if _, err := w.Write([]byte(rest[:min(size, len(rest))])); err != nil {
				t.Fatal(err)
			}
		}
		if b.String() != "gpusched: 30 s are left\ngpusched: over memory\n" {
			t.Errorf("%q", b.String())
		}
	}
}

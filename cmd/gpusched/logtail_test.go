package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// A log is followed from the attempt on, and not where lines of others come after.
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
		{"one" + of2 + "two", 1, 0, "", false}, {"one", 2, 0, "", false}, {"one" + other + "x", 1, 0, "", false}, {"x" + other + "y" + of1 + "mine", 1, 0, "mine", true},
	} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		ok := seekAttempt(file, "7", c.attempt, c.lines)
		rest, _ := io.ReadAll(file)
		if ok != c.ok || ok && string(rest) != c.want {
			t.Errorf("%q, attempt %d, %d lines: %v %q", c.text, c.attempt, c.lines, ok, rest)
		}
		file.Close()
	}
}

// A log that its job's launcher is about to make is waited for; one that will not come is not.
func TestOwnLogIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "log")
		f := &following{logPrinter: &logPrinter{logsCmd: &logsCmd{}, app: &app{uid: 7}}}
		j := api.Job{ID: 5, UID: 7, Private: &api.Private{Log: contract.Log{Path: path}}}
		at := api.Attempt{Attempt: job.Attempt{Number: 1, PlacedAt: time.Now()}}
		time.AfterFunc(time.Second, func() { _ = os.WriteFile(path, []byte("10%\r"), 0o600) })
		file := f.ownLog(t.Context(), j, at)
		if file == nil {
			t.Fatal("a log that comes after a second is not read")
		}
		file.Close()
		at.Number = 2
		if begin := time.Now(); f.ownLog(t.Context(), j, at) != nil || time.Since(begin) > logDue {
			t.Errorf("an attempt that is not in the log was waited for %s", time.Since(begin))
		}
		if begin := time.Now(); f.ownLog(t.Context(), j, at) != nil || time.Since(begin) > journalPoll {
			t.Errorf("of a job that began before, it was waited for %s", time.Since(begin))
		}
	})
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

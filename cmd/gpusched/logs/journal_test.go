package logs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// Another user's output can't control the terminal, however it is cut into pieces. The caller's own
// output is unchanged, and so is output that goes to a file.
func TestOutputOfOthersIsFiltered(t *testing.T) {
	const text = "\x1b[31mred\x1b]0;x\a\nta\tb \u202e größe 日本 \xff\u009b2J\r\n"
	const want = "?[31mred?]0;x?\nta\tb ? größe 日本 ??2J?\n"
	for size := 1; size < len(text); size++ {
		for _, test := range []struct {
			uid  int
			tty  bool
			want string
		}{{2, true, want}, {1, true, text}, {2, false, text}} {
			if got := streamed(t, text, size, api.Job{UID: test.uid}, &Printer{}, test.tty); got != test.want {
				t.Errorf("in pieces of %d, %+v: %q", size, test, got)
			}
		}
	}
}

// If several jobs are printed, each line begins with its job's name, and lines never mix.
func TestLinesBeginWithTheirJob(t *testing.T) {
	const text = "one\n\ntwo \xff\r50%\r100%\n"
	const want = "7: one\n7: \n7: two \xff\r50%\r100%\n"
	for size := 1; size < len(text); size++ {
		if got := streamed(t, text, size, api.Job{ID: 7, UID: 1}, &Printer{Many: true}, false); got != want {
			t.Errorf("in pieces of %d: %q", size, got)
		}
	}
}

// Whether the journal hides the output depends on the uid, on systemd's version and on the user's
// rights. If the user has a journal file, the result is uncertain, since the file may be older than
// this systemd.
func TestOutOfReach(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	for _, c := range []struct {
		uid, systemd int
		file         string
		out, hidden  bool
	}{
		{1001, 257, "", false, false}, {60999, 257, "", false, false}, {65520, 257, "", false, false}, {200000, 257, "", false, false},
		{61184, 252, "", true, true}, {65519, 252, "", true, true}, {1234600500, 252, "", false, false},
		{524288, 253, "", true, true}, {1879048191, 257, "", true, true}, {524287, 257, "", false, false}, {1879048192, 257, "", false, false},
		{62000, 252, "user-62000.journal", true, false}, {1234600500, 257, "user-1234600500.journal", true, false},
		{62000, 252, "system.journal", false, false}, {1234600500, 257, "system.journal", false, false},
	} {
		journal := t.TempDir()
		if err := os.Mkdir(filepath.Join(journal, "0123"), 0o755); err != nil {
			t.Fatal(err)
		}
		if c.file != "" {
			if err := os.WriteFile(filepath.Join(journal, "0123", c.file), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		version := fmt.Sprintf("#!/bin/sh\necho 'systemd %d (%[1]d.1-1)'\n", c.systemd)
		if err := os.WriteFile(filepath.Join(bin, "journalctl"), []byte(version), 0o755); err != nil {
			t.Fatal(err)
		}
		a := &cli.App{Env: cli.Env{UID: c.uid, JournalDirs: []string{journal}}}
		if out, hidden := OutOfReach(a), HiddenOutput(a) != nil; out != c.out || hidden != c.hidden {
			t.Errorf("%+v: %v, %v", c, out, hidden)
		}
		want := map[bool]string{true: "is not shown: systemd puts", false: "printed nothing, or its output is in the system's journal"}[c.hidden]
		for _, log := range []string{"", "/none/5.log"} {
			text := Unseen(a, api.Job{ID: 5, UID: c.uid, Private: &api.Private{Program: api.Program{Log: contract.Log{Path: log}}}})
			if c.out != strings.Contains(text, want) || (text != "") != c.out || c.out != strings.HasSuffix(text, "its log is "+log) && log != "" {
				t.Errorf("%+v, log %q: %q", c, log, text)
			}
		}
	}
}

// The message "printed nothing" is not shown if the journal is behind, or if journald was started
// after the job. An earlier journald may have lost the job's output.
func TestNothingPrinted(t *testing.T) {
	root := t.TempDir()
	journalctl, units := filepath.Join(root, "journalctl"), filepath.Join(root, "run/systemd/units")
	if err := os.WriteFile(journalctl, []byte("#!/bin/sh\nprintf '__CURSOR=c\\nMESSAGE=older\\n\\n'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(units, 0o755), os.Symlink("ab12", filepath.Join(units, "invocation:systemd-journald.service"))); err != nil {
		t.Fatal(err)
	}
	p := &Printer{Cmd: &Cmd{}, App: &cli.App{Env: cli.Env{Root: root}}, Path: journalctl}
	for _, c := range []struct {
		placed time.Duration // time from the start of journald to the job's placement
		whole  bool
		want   string
	}{
		{time.Hour, true, "printed nothing"},
		{-time.Hour, true, "printed nothing, or the journal no longer has it"},
		{time.Hour, false, "printed nothing, or the journal does not have it yet: try again later"},
	} {
		at := api.Attempt{Attempt: job.Attempt{Number: 1, PlacedAt: time.Now().Add(c.placed), EndedAt: time.Now().Add(2 * time.Hour)}}
		if got := p.nothingPrinted(t.Context(), api.Job{ID: 5}, at, c.whole); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// streamed returns the text that is written for a job's output.
func streamed(t *testing.T, text string, size int, j api.Job, p *Printer, tty bool) string {
	t.Helper()
	var b bytes.Buffer
	p.App = &cli.App{Env: cli.Env{Out: &term.Terminal{W: bufio.NewWriter(&b), TTY: tty}, UID: 1}}
	out := p.stream(j)
	for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
		if n, err := out.Write([]byte(rest[:min(size, len(rest))])); err != nil || n != min(size, len(rest)) {
			t.Fatal(n, err)
		}
	}
	return b.String()
}

package client

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/units/contract"
)

// Another's output cannot act on one's terminal, however it is cut in pieces;
// one's own, and that in a file, is not touched.
func TestOthersOutputIsOnlyText(t *testing.T) {
	const text = "\x1b[31mred\x1b]0;x\a\nta\tb \u202e größe 日本 \xff\u009b2J\r\n"
	const want = "?[31mred?]0;x?\nta\tb ? größe 日本 ??2J?\n"
	for size := 1; size < len(text); size++ {
		for _, test := range []struct {
			uid  int
			tty  bool
			want string
		}{{2, true, want}, {1, true, text}, {2, false, text}} {
			if got := streamed(t, text, size, api.Job{UID: test.uid}, &logPrinter{}, test.tty); got != test.want {
				t.Errorf("in pieces of %d, %+v: %q", size, test, got)
			}
		}
	}
}

// Of several jobs each line is led by its job's name, and lines of two are never mixed.
func TestLinesAreLedByTheirJob(t *testing.T) {
	const text = "one\n\ntwo \xff\r50%\r100%\n"
	const want = "7: one\n7: \n7: two \xff\r50%\r100%\n"
	for size := 1; size < len(text); size++ {
		if got := streamed(t, text, size, api.Job{ID: 7, UID: 1}, &logPrinter{many: true}, false); got != want {
			t.Errorf("in pieces of %d: %q", size, got)
		}
	}
}

// Whom journald keeps from the output goes by the uid, by systemd's version and by what the
// user can read. A file of the user's own makes it uncertain: it may be older than this systemd.
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
		a := &app{uid: c.uid, journalDirs: []string{journal}}
		if out, hidden := a.outOfReach(), a.hiddenOutput() != nil; out != c.out || hidden != c.hidden {
			t.Errorf("%+v: %v, %v", c, out, hidden)
		}
		want := map[bool]string{true: "is not shown: systemd puts", false: "printed nothing, or its output is in the system's journal"}[c.hidden]
		for _, log := range []string{"", "/none/5.log"} {
			text := a.unseen(api.Job{ID: 5, UID: c.uid, Private: &api.Private{Log: contract.Log{Path: log}}})
			if c.out != strings.Contains(text, want) || (text != "") != c.out || c.out != strings.HasSuffix(text, "its log is "+log) && log != "" {
				t.Errorf("%+v, log %q: %q", c, log, text)
			}
		}
	}
}

// streamed is what comes out of what a job printed.
func streamed(t *testing.T, text string, size int, j api.Job, p *logPrinter, tty bool) string {
	t.Helper()
	var b bytes.Buffer
	p.app = &app{out: &term.Terminal{W: bufio.NewWriter(&b), TTY: tty}, uid: 1}
	out := p.stream(j)
	for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
		if n, err := out.Write([]byte(rest[:min(size, len(rest))])); err != nil || n != min(size, len(rest)) {
			t.Fatal(n, err)
		}
	}
	return b.String()
}

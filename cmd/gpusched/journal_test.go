package main

import (
	"bufio"
	"bytes"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
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

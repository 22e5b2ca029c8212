package main

import (
	"bufio"
	"bytes"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
)

// Another's output cannot act on one's terminal, however it is cut in pieces;
// one's own, and that in a file, is not touched.
func TestOthersOutputIsOnlyText(t *testing.T) {
	const text = "\x1b[31mred\x1b]0;x\a\nta\tb \u202e größe 日本 \xff\u009b2J\r\n"
	const want = "?[31mred?]0;x?\nta\tb ? größe 日本 ??2J?\n"
	for size := 1; size < len(text); size++ {
		var b bytes.Buffer
		a := &app{out: &term.Terminal{W: bufio.NewWriter(&b), TTY: true}, uid: 1}
		out := a.outputOf(2)
		for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
			if n, err := out.Write([]byte(rest[:min(size, len(rest))])); err != nil || n != min(size, len(rest)) {
				t.Fatal(n, err)
			}
		}
		a.out.W.Flush()
		if b.String() != want {
			t.Errorf("in pieces of %d: %q", size, b.String())
		}
		if a.outputOf(1) != a.out.W {
			t.Error("one's own output is changed")
		}
		if a.out.TTY = false; a.outputOf(2) != a.out.W {
			t.Error("output into a file is changed")
		}
	}
}

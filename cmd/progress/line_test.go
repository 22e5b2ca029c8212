package progress

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/creack/pty"
)

func xterm(string) string { return "xterm" }

// Invariants 2 and 3: short work shows nothing, and the line leaves nothing behind.
func TestLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := begin(&out, func() int { return 20 }, "reads")
		time.Sleep(patience - time.Millisecond)
		l.End()
		l.End()
		if out.Len() > 0 {
			t.Errorf("work that was done at once shows %q", &out)
		}
		l = begin(&out, func() int { return 20 }, "reads\x1b[31m\n")
		time.Sleep(patience + time.Millisecond)
		synctest.Wait()
		l.Say("reads the 3rd of a million")
		time.Sleep(redraw)
		synctest.Wait()
		fmt.Fprint(l.Over(&out), "stays\n")
		l.Say("4th")
		time.Sleep(3 * redraw)
		synctest.Wait()
		l.End()
		want := "\r\x1b[Kreads?[31m? (0s)" + "\r\x1b[Kreads the 3rd of a " + "\r\x1b[Kstays\n" + "\r\x1b[K4th (0s)" + "\r\x1b[K"
		if got := out.String(); got != want {
			t.Errorf("the screen has had\n%q, want\n%q", got, want)
		}
	})
}

// Invariant 1: only a real terminal gets a line.
func TestTerminals(t *testing.T) {
	far, near, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	if err := pty.Setsize(near, &pty.Winsize{Rows: 24, Cols: 30}); err != nil {
		t.Fatal(err)
	}
	plain, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	dumb := func(string) string { return "dumb" }
	for name, l := range map[string]*Line{
		"a file": Begin(plain, xterm, "x"), "a dumb terminal": Begin(near, dumb, "x"), "no TERM": Begin(near, func(string) string { return "" }, "x"),
	} {
		if l != nil {
			t.Errorf("%s gets a line", name)
		}
		l.Say("x")
		l.Aside(func() {})
		l.End()
	}
	l := Begin(near, xterm, "line %d", 7)
	seen := make([]byte, 100)
	n, err := far.Read(seen) // waits until the line is drawn
	if err != nil || !strings.HasPrefix(string(seen[:n]), "\r\x1b[Kline 7 (") {
		t.Errorf("%q, %v", seen[:n], err)
	}
	l.End()
	near.Close()
	rest, _ := io.ReadAll(far) // returns an error because nobody has the other side open
	if !strings.HasSuffix(string(rest), "\r\x1b[K") {
		t.Errorf("it leaves %q", rest)
	}
}

package term

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// Reset restores the modes that programs changed and sends nothing else. It makes no difference
// into which pieces the output is cut.
func TestModes(t *testing.T) {
	for _, c := range []struct {
		name, shown, reset string
		talks              bool
	}{
		{"a plain program", "hello\r\n\x1b[31mred\x1b[0m\x1b[2J\x1b[?25l\x1b[?25h", "", false},
		{"vim", "\x1b[?1049h\x1b[22;0;0t\x1b[>4;2m\x1b[?1h\x1b=\x1b[?2004h\x1b[1;24r\x1b[?25l\x1b[34m",
			"\x1b[>4m\x1b>\x1b[0m\x1b7\x1b[r\x1b8\x1b[?1l\x1b[?25h\x1b[?2004l\x1b[?1049l", false},
		{"a mouse in two", "\x1b[?1002;1006h", "\x1b[?1002l\x1b[?1006l", true},
		{"vim that has ended", "\x1b[?1049h\x1b[?1000h\x1b=\x1b[?1000l\x1b>\x1b[?1049l", "", false},
		{"fish", "\x1b[>5u\x1b[4 q\x1b(0", "\x1b[<u\x1b(B\x0f\x1b[0 q", false},
		{"a terminal that was reset", "\x1b[?1049h\x1b=\x1bc", "", false},
		{"a title that is cut", "\x1b]0;tit", "\x18", false},
		{"a title with modes in it", "\x1b]0;[?1049h\x07", "", false},
		{"other modes", "\x1b[4h\x1b[?h\x1b[?xh\x1b[h", "", false},
	} {
		var whole, pieces bytes.Buffer
		m, single := &Modes{W: &whole}, &Modes{W: &pieces}
		_, _ = io.WriteString(m, c.shown)
		for i := range len(c.shown) {
			_, _ = io.WriteString(single, c.shown[i:i+1])
		}
		if m.Talks() != c.talks {
			t.Errorf("%s: talks %v", c.name, m.Talks())
		}
		if whole.String() != c.shown || pieces.String() != c.shown {
			t.Errorf("%s: passed on as %q and %q", c.name, &whole, &pieces)
		}
		for _, m := range []*Modes{m, single} {
			if got := m.Reset(); got != c.reset {
				t.Errorf("%s: reset by %q, want %q", c.name, got, c.reset)
			}
		}
	}
}

// Harmless passes on only text and movements within a line.
func TestHarmless(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a\r\nb\tc\b d\r", "a\r\nb\tc\b d\r"},
		{"\x1b[31mred\x1b[0m \x1b]52;c;ZXZpbA==\x07x\x1b]0;t\x1b\\y\x1bPq\x1b\\z\x1bc!", "red xyz!"},
		{"\x1b[\x1b[?1049hin", "in"}, {"\x1b[3\n1mx", "\nx"}, {"\x1b]0;never ends" + strings.Repeat("x", maxString) + "seen", strings.Repeat("x", len("0;never ends")-1) + "seen"},
		{"\u009b31m\x9b31m größe", "?31m?31m größe"}, {"\x07\x0e\x00", "??"}, {"\x1b(B\x1b#8k", "k"},
	} {
		var whole, pieces bytes.Buffer
		_, _ = io.WriteString(Harmless(&whole), c.in)
		w := Harmless(&pieces)
		for i := range len(c.in) {
			_, _ = io.WriteString(w, c.in[i:i+1])
		}
		if whole.String() != c.want || pieces.String() != c.want {
			t.Errorf("%q: %q and %q, want %q", c.in, &whole, &pieces, c.want)
		}
	}
}

// FuzzHarmless checks two writers. Harmless passes on no control characters except \r, \n, \t and
// \b. Modes passes on everything. Once the text that Reset returned has been written, Reset returns
// "".
func FuzzHarmless(f *testing.F) {
	f.Add([]byte("\x1b[?1049h\x1b]0;x\x07\x9b\u009b\x18\x1b["))
	f.Fuzz(func(t *testing.T, b []byte) {
		var plain, raw bytes.Buffer
		_, _ = Harmless(&plain).Write(b)
		for _, r := range plain.String() {
			if (r < ' ' && !strings.ContainsRune("\r\n\t\b", r)) || r >= 0x7f && r < 0xa0 {
				t.Fatalf("%q passes from %q", r, b)
			}
		}
		m := &Modes{W: &raw}
		_, _ = m.Write(b)
		_, _ = m.Write([]byte(m.Reset()))
		if again := m.Reset(); again != "" || !bytes.HasPrefix(raw.Bytes(), b) {
			t.Fatalf("%q: %q is left", b, again)
		}
	})
}

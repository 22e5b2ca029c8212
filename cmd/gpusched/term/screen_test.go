package term

import (
	"bufio"
	"bytes"
	"strings"
	"testing"
)

// A screen overwrites the earlier content, shows as much as fits and restores the terminal.
func TestScreen(t *testing.T) {
	var b bytes.Buffer
	modes := &Modes{W: &b}
	s := NewScreen(bufio.NewWriter(modes))
	s.Draw("a\nb\nc\nd\n", 80, 3)
	for _, want := range []string{"\x1b[Ha\x1b[0m\x1b[K\r\nb", "… and 2 more lines", "\x1b[J\x1b[?2026l"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in %q", want, b.String())
		}
	}
	if strings.Contains(b.String(), "\x1b[2J") || strings.Contains(b.String(), "c\x1b") {
		t.Errorf("%q", b.String())
	}
	s.Draw("a\nb\nc\n", 80, 3)
	if !strings.HasSuffix(b.String(), "c\x1b[0m\x1b[K\x1b[J\x1b[?2026l") {
		t.Errorf("what fits is cut: %q", b.String())
	}
	s.Close()
	if left := modes.Reset(); left != "" {
		t.Errorf("%q is left", left)
	}
}

package api

import (
	"os/exec"
	"testing"
	"unicode/utf8"

	"github.com/gpusched/gpusched/daemon/job"
)

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"train.py":      "train.py",
		"":              "''",
		"a b":           "'a b'",
		"it's":          `'it'\''s'`,
		"$HOME":         "'$HOME'",
		"--lr=1e-3":     "--lr=1e-3",
		"=ls":           "'=ls'",
		"~":             "'~'",
		"\x1b[31mred":   `$'\x1b[31mred'`,
		"a\nb\t'\\":     `$'a\nb\t\'\\'`,
		"\xff":          `$'\xff'`,
		"größe":         "$'größe'",
		"\u202egpj.exe": `$'\xe2\x80\xaegpj.exe'`,
		"\ufffd":        `$'\xef\xbf\xbd'`,
	} {
		if got := Quote(in); got != want {
			t.Errorf("Quote(%q) = %s, want %s", in, got, want)
		}
	}
	if got := Quote("a", "b c"); got != "a 'b c'" {
		t.Error(got)
	}
}

// bash reads back the quoted words, and the text is safe on a terminal.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a b", "'", "\\", "\n", "\x00\x01", "\xff\xfe", "!x", "ß", "\u202e", "-n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q := Quote(s)
		if !utf8.ValidString(q) || !job.Printable(q) {
			t.Fatalf("Quote(%q) = %q is not printable", s, q)
		}
		for _, c := range []byte(s) {
			if c == 0 {
				return // no program can have such an argument
			}
		}
		out, err := exec.Command("bash", "-c", "printf %s "+q).Output()
		if err != nil {
			t.Fatalf("bash reads %q: %v", q, err)
		}
		if string(out) != s && s != "" && s[0] != '-' {
			t.Errorf("bash reads %s back as %q, not %q", q, out, s)
		}
	})
}

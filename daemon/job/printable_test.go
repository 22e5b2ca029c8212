package job

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// This is invariant 4.
func TestPrintable(t *testing.T) {
	for _, text := range []string{"", "a", "train resnet", "größe", "训练", "обучение", "e\u0301", "👍", "❤\ufe0f", "~!@#$%^&*()", "\ufffd"} {
		if !Printable(text) {
			t.Errorf("%+q is refused", text)
		}
	}
	for name, text := range map[string]string{
		"NUL": "\x00", "bell": "\a", "escape": "\x1b[31m", "newline": "\n", "return": "\r", "tab": "\t", "delete": "\x7f", "C1 control": "\u009b31m",
		"next line": "\u0085", "no-break space": "\u00a0", "em space": "\u2003", "wide space": "\u3000", "line separator": "\u2028", "paragraph separator": "\u2029",
		"soft hyphen": "\u00ad", "zero-width space": "\u200b", "zero-width non-joiner": "\u200c", "zero-width joiner": "\u200d", "word joiner": "\u2060", "byte order mark": "\ufeff",
		"left-to-right mark": "\u200e", "right-to-left mark": "\u200f", "arabic letter mark": "\u061c", "override to the right": "\u202d", "override to the left": "\u202e",
		"embedding": "\u202a", "pop": "\u202c", "isolate": "\u2066", "end of isolate": "\u2069", "tag letter": "\U000e0041", "joiner of graphemes": "\u034f",
		"Hangul filler": "\u3164", "half-width filler": "\uffa0", "Hangul choseong filler": "\u115f", "private use": "\ue000", "unassigned": "\u0378", "noncharacter": "\uffff",
		"lone byte": "\xff", "cut short": "\xe2\x82", "overlong": "\xc0\x80", "surrogate": "\xed\xa0\x80",
	} {
		for _, around := range []string{text, "a" + text, text + "a"} {
			if Printable(around) {
				t.Errorf("%s is taken in %+q", name, around)
			}
		}
	}
}

// A text is printable if each of its letters is.
func TestPrintableIsPerLetter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom(nil, unicode.L, unicode.Cf, unicode.Z), 0, 4, -1)).Draw(t, "text")
		want := true
		for _, r := range text {
			want = want && Printable(string(r))
		}
		if Printable(text) != want {
			t.Fatalf("%+q: %t", text, !want)
		}
	})
}

func FuzzPrintable(f *testing.F) {
	for _, seed := range []string{"", "a b", "\x1b[2J", "\u202eabc", "\u200b", "\xff", "\u3164", "👍"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !Printable(text) {
			return
		}
		if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) || strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.C, r) }) {
			t.Fatalf("%+q is printable", text)
		}
	})
}

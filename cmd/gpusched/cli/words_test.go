package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestSplitWords(t *testing.T) {
	for line, want := range map[string][]string{
		"":                        nil,
		" \t# only a comment":     nil,
		"a  b\tc\r":               {"a", "b", "c"},
		`'a b' "c d" e\ f`:        {"a b", "c d", "e f"},
		`a'b'"c"\d ''`:            {"abcd", ""},
		`"\"\\\n$x" '\"'`:         {`"\\n$x`, `\"`},
		"a#b c # d":               {"a#b", "c"},
		`\`:                       {`\`},
		"\"\\$HOME \\`a\\` \\d\"": {"$HOME `a` \\d"},
		`a\ #b \"#c "#d" ''#e`:    {"a #b", `"#c`, "#d", "#e"},
		`--param lr=1,2 \#`:       {"--param", "lr=1,2", "#"},
	} {
		if got, err := SplitWords(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s is %q, %v, want %q", line, got, err, want)
		}
	}
	if got, err := SplitEscaped(`-o "a\ b" '\ '`, ""); err != nil || !slices.Equal(got, []string{"-o", "a b", `\ `}) {
		t.Errorf("as Slurm: %q, %v", got, err)
	}
	for _, line := range []string{`'`, `a "b`, `"\"`} {
		if got, err := SplitWords(line); err == nil {
			t.Errorf("%s is %q", line, got)
		}
	}
}

// FuzzSplitWords checks that quoted words come back unchanged.
func FuzzSplitWords(f *testing.F) {
	f.Add("a b", "'\\\"#")
	f.Fuzz(func(t *testing.T, a, b string) {
		quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
		got, err := SplitWords(quote(a) + " " + quote(b) + " # c")
		if err != nil || !slices.Equal(got, []string{a, b}) {
			t.Errorf("%q and %q are %q, %v", a, b, got, err)
		}
		SplitWords(a)
	})
}

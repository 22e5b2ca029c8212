package vm

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestQuote(t *testing.T) {
	for _, argv := range [][]string{
		{"a"}, {"a b", ""}, {"it's", `"$HOME" \ $(x)`, "new\nline"}, {"'", "''"}, {"*", "~", ";", "-n"},
	} {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\0' `+quote(argv)).Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); !slices.Equal(got, argv) {
			t.Errorf("a shell reads %q as %q", argv, got)
		}
	}
}

func TestHasWord(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{"READY=1", true}, {"STATUS=x\nREADY=1\n", true}, {"READY=10", false}, {"", false}, {"XREADY=1", false},
	} {
		if got := hasWord(c.text, "READY=1"); got != c.want {
			t.Errorf("hasWord(%q) = %v", c.text, got)
		}
	}
}

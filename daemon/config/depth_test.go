package config

import (
	"strings"
	"testing"
)

// Even the largest file that is read does not make the parser exceed a goroutine's stack, and takes
// only a moment.
func TestDeepestFile(t *testing.T) {
	for _, piece := range []string{"[", "{a=", "a."} {
		data := "a = " + strings.Repeat(piece, (MaxFileBytes-4)/len(piece))
		if _, _, err := Parse("deep", []byte(data)); err == nil {
			t.Errorf("%d times %q was accepted", len(data), piece)
		}
	}
	if _, _, err := Parse("deep", []byte("a = "+strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000))); err == nil {
		t.Error("nested lists were accepted")
	}
	long := strings.Repeat("a.", 100_000) + "a = 1"
	if _, _, err := Parse("long", []byte(long)); err == nil || len(err.Error()) > 1000 {
		t.Error("a long key was accepted, or reported in full")
	}
}

package slurm

import (
	"slices"
	"strings"
	"testing"
)

// A list is expanded as Slurm expands it. If a list is malformed or far too long, it is refused.
func TestHostnames(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a": "a", "a,b": "a b", "a,": "a", "a[1-3,7],b": "a1 a2 a3 a7 b", "a[08-10,2]x": "a08x a09x a10x a2x",
		"n[08-10,12],m4": "n08 n09 n10 n12 m4",
		"r[1-2]n[1,3]":   "r1n1 r1n3 r2n1 r2n3", "[1-2]": "1 2",
	} {
		if got, err := Hostnames(text); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	if got, err := Hostnames("n[0-65535]"); err != nil || len(got) != maxHosts || !slices.Contains(got, "n65535") {
		t.Errorf("%d names, %v", len(got), err)
	}
	for _, text := range []string{
		"n[", "n]1[", "n[]", "n[a-b]", "n[3-1]", "n[-1]", "n[1-]", "n[0-65536]", "n[0-999999999]", "n[0-99999999999999999999]",
		"n[" + strings.Repeat("0-65535,", 1000) + "1]", "n" + strings.Repeat("[0-999]", 100), strings.Repeat("n[0-9999],", 10), "n[0-65535],m",
	} {
		if got, err := Hostnames(text); err == nil {
			t.Errorf("%.40s: %d names", text, len(got))
		}
	}
}

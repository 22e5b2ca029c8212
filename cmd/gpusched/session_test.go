package main

import "testing"

// Ctrl-P Ctrl-Q leaves, in one piece or in two; everything else is for the job, a
// single Ctrl-P with the key after it.
func TestDetachKeys(t *testing.T) {
	for _, c := range []struct {
		typed []string
		want  string
		leave bool
	}{
		{[]string{"abc"}, "abc", false},
		{[]string{"ab\x10\x11cd"}, "ab", true},
		{[]string{"ab\x10", "\x11"}, "ab", true},
		{[]string{"\x10x"}, "\x10x", false},
		{[]string{"\x10", "x\x11"}, "\x10x\x11", false},
		{[]string{"\x10\x10\x11"}, "\x10", true},
		{[]string{"\x11\x03\x04"}, "\x11\x03\x04", false},
	} {
		var keys detachKeys
		got, left := "", false
		for _, piece := range c.typed {
			content, leave := keys.pass([]byte(piece))
			got, left = got+string(content), left || leave
		}
		if got != c.want || left != c.leave {
			t.Errorf("%q: %q, %v", c.typed, got, left)
		}
	}
}

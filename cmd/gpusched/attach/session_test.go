package attach

import (
	"os"
	"testing"
)

// Ctrl-P Ctrl-Q detaches, whether it arrives in one read or in two. All other input is passed on,
// including a Ctrl-P that another key follows.
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
			content, leave := keys.findDetach([]byte(piece))
			got, left = got+string(content), left || leave
		}
		if got != c.want || left != c.leave {
			t.Errorf("%q: %q, %v", c.typed, got, left)
		}
	}
}

// Input that follows the detach keys is dropped.
func TestInputAfterDetachingIsDropped(t *testing.T) {
	_, conn, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := &session{conn: conn, tty: true, detached: make(chan struct{})}
	for _, typed := range []string{"\x10\x11", "\x11", "\x10\x11"} {
		s.sendInput([]byte(typed), false)
	}
	select {
	case <-s.detached:
	default:
		t.Error("the session goes on")
	}
	if s.keys.held {
		t.Error("a key is held back after the session has ended")
	}
}

package vm

import "testing"

func TestEndMark(t *testing.T) {
	for _, c := range []struct {
		name   string
		writes []string // W replaces the random word of the line
		stderr string
		code   int
		ok     bool
	}{
		{"nothing", nil, "", 0, false},
		{"no end", []string{"some", " text\n"}, "some text\n", 0, false},
		{"at once", []string{"text\nW7\n"}, "text\n", 7, true},
		{"in pieces", []string{"te", "xt", "W", "25", "5", "\n"}, "text", 255, true},
		{"cut short", []string{"W25"}, "W25", 0, false},
		{"not a number", []string{"Wx\n"}, "Wx\n", 0, false},
		{"words after it", []string{"a", "W0\n", "b\n"}, "ab\n", 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			seen := 0
			mark := newEndMark(func() { seen++ })
			mark.word = "W"
			for _, w := range c.writes {
				if n, err := mark.Write([]byte(w)); n != len(w) || err != nil {
					t.Errorf("Write: %d, %v", n, err)
				}
			}
			stderr, code, ok := mark.result()
			if stderr != c.stderr || code != c.code || ok != c.ok {
				t.Errorf("%q, %d, %v, want %q, %d, %v", stderr, code, ok, c.stderr, c.code, c.ok)
			}
			if (seen == 1) != c.ok || seen > 1 {
				t.Errorf("seen %d times", seen)
			}
		})
	}
}

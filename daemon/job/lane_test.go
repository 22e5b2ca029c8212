package job

import (
	"math"
	"strings"
	"testing"
)

func TestParseLane(t *testing.T) {
	for text, want := range map[string]struct {
		name        string
		limit, site int
	}{
		"a": {"a", 1, math.MaxInt}, "a=1": {"a", 1, 1}, "lr=3=2": {"lr=3", 2, 2}, "my runs=10000": {"my runs", 10_000, 10_000},
	} {
		l, err := ParseLane(text)
		if err != nil || l.Name() != want.name || l.Limit(false) != want.limit || l.Limit(true) != want.site {
			t.Errorf("%q: %q, %d, in a lane of the site %d, %v", text, l.Name(), l.Limit(false), l.Limit(true), err)
		}
	}
	for _, text := range []string{"", "=1", "a=", "a=0", "a=-1", "a=x", "a=10001", "a\n", strings.Repeat("a", MaxNameBytes+1)} {
		if _, err := ParseLane(text); err == nil {
			t.Errorf("%q is a lane", text)
		}
	}
}

package core

import (
	"testing"
	"time"
)

// Run times are stretched by how much longer jobs ran lately, weighed by their GPUs, once
// there are enough of them, at least by nothing and fourfold at most.
func TestStretch(t *testing.T) {
	for name, c := range map[string]struct {
		runs, milli   int
		ran, expected time.Duration
		want          float64
	}{
		"too few":           {10, 1000, 2 * time.Hour, time.Hour, 1},
		"twice as long":     {10, 4000, 3 * time.Hour, time.Hour, 2.6},
		"shorter":           {100, 1000, time.Minute, time.Hour, 1},
		"far longer":        {100, 1000, 20 * time.Hour, time.Hour, longestStretch},
		"nothing was known": {100, 1000, time.Hour, 0, 1},
	} {
		var s stretch
		for range c.runs {
			s.observe(c.ran, c.expected, c.milli)
		}
		if name == "twice as long" { // and as many of one GPU that ran as expected
			for range c.runs {
				s.observe(time.Hour, time.Hour, 1000)
			}
		}
		if got := s.factor(); got < c.want-0.05 || got > c.want+0.05 {
			t.Errorf("%s: %g, want %g", name, got, c.want)
		}
	}
}

package retry

import (
	"math"
	"testing"
	"time"
)

func TestAfter(t *testing.T) {
	const s, year = time.Second, 365 * 24 * time.Hour
	for _, c := range []struct {
		failures       int
		first, longest time.Duration
		want           time.Duration
	}{
		{-1, s, 5 * s, 0}, {0, s, 5 * s, 0}, {1, s, 5 * s, s}, {2, s, 5 * s, 2 * s}, {3, s, 5 * s, 4 * s}, {4, s, 5 * s, 5 * s},
		{5, s, 5 * s, 5 * s}, {math.MaxInt, s, 100 * year, 100 * year}, {1, 9 * s, 5 * s, 5 * s}, {math.MaxInt, 0, 5 * s, 0},
	} {
		if got := After(c.failures, c.first, c.longest); got != c.want {
			t.Errorf("After(%d, %v, %v) = %v, want %v", c.failures, c.first, c.longest, got, c.want)
		}
	}
}

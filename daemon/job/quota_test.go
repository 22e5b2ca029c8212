package job

import "testing"

// A percentage of a number is rounded down, but is at least 1, unless the number is 0. An amount is
// itself, whatever the number.
func TestPartOf(t *testing.T) {
	for _, c := range []struct {
		part      Part
		all, want int64
	}{
		{Part{}, 100, 0}, {Part{Percent: 80}, 0, 0}, {Part{Percent: 80}, 1, 1}, {Part{Percent: 80}, 2, 1}, {Part{Percent: 80}, 8, 6},
		{Part{Percent: 80}, 64, 51}, {Part{Percent: 100}, 7, 7}, {Part{Percent: 50}, MaxSize, MaxSize / 2}, {Part{Amount: 9}, 8, 9}, {Part{Amount: 9}, 0, 9},
	} {
		if got := c.part.Of(c.all); got != c.want {
			t.Errorf("%+v of %d is %d, want %d", c.part, c.all, got, c.want)
		}
	}
}

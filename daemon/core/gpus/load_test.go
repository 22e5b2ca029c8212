package gpus

import (
	"testing"
	"time"
)

// The load is the mean over the samples in a window, or the value of the last sample if the window
// has none. Unknown values do not count.
func TestLoad(t *testing.T) {
	for name, c := range map[string]struct {
		window time.Duration
		seen   []int // one value every five seconds
		want   int
	}{
		"the last":        {0, []int{100, 100, 7}, 7},
		"a window":        {15 * time.Second, []int{0, 0, 90, 90, 0}, 60},
		"unknown":         {15 * time.Second, []int{-1, 50, -1}, 50},
		"nothing known":   {15 * time.Second, []int{-1, -1}, -1},
		"half is up":      {10 * time.Second, []int{0, 1}, 1},
		"never looked at": {time.Minute, nil, 0},
	} {
		d, now := &device{}, time.Unix(1e9, 0)
		for _, percent := range c.seen {
			now = now.Add(5 * time.Second)
			d.UtilGPUPercent = percent
			d.noteLoad(c.window, now)
		}
		if got := d.load(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// The number of kept samples is bounded, even if the window is longer. A clock that is set back
// does no harm.
func TestLoadIsBounded(t *testing.T) {
	d, now := &device{}, time.Unix(1e9, 0)
	for range 3 * maxLoads {
		now = now.Add(time.Millisecond)
		d.UtilGPUPercent = 100
		d.noteLoad(time.Hour, now)
	}
	if len(d.use.loads) != maxLoads || cap(d.use.loads) > 4*maxLoads {
		t.Errorf("%d are kept in room for %d", len(d.use.loads), cap(d.use.loads))
	}
	d.UtilGPUPercent = 10
	d.noteLoad(time.Hour, now.Add(-time.Minute))
	if got := d.load(); got != 10 || len(d.use.loads) != 1 {
		t.Errorf("after the clock was set back: %d of %d samples", got, len(d.use.loads))
	}
}

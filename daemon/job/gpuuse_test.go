package job

import (
	"testing"
	"time"
)

func TestBusyPercent(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, c := range []struct {
		seen, busy time.Duration
		want       int
	}{
		{0, 0, -1},
		{time.Hour, 0, 0},
		{200 * time.Second, time.Second, 1},
		{201 * time.Second, time.Second, 0},
		{10 * year, 5 * year, 50},
		{10 * year, 10 * year, 100},
	} {
		if got := (GPUUse{Seen: c.seen, Busy: c.busy}).BusyPercent(); got != c.want {
			t.Errorf("%s of %s is %d %%, want %d", c.busy, c.seen, got, c.want)
		}
	}
}

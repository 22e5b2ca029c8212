package dst

import (
	"testing"
	"time"
	"unsafe"
)

// stamp returns a time as time.Now would return it. It has a wall clock, which may be set, and a
// monotonic clock, which may not. A clock jump is a difference between the two clocks, but package
// time has no way to make such a time. TestStamp checks that stamp works.
func stamp(wall time.Time, monotonic time.Duration) time.Time {
	const hasMonotonic, secondsFrom1885To1970 = 1 << 63, (85*365 + 20) * 86400
	raw := struct {
		wall uint64
		ext  int64
		loc  *time.Location
	}{
		wall: hasMonotonic | uint64(wall.Unix()+secondsFrom1885To1970)<<30 | uint64(wall.Nanosecond()),
		ext:  int64(monotonic),
	}
	return *(*time.Time)(unsafe.Pointer(&raw))
}

// Differences between stamps follow the monotonic clock. A stamp that is written and read back
// follows the wall clock.
func TestStamp(t *testing.T) {
	wall := time.Date(2040, 2, 3, 4, 5, 6, 789, time.UTC)
	a, b := stamp(wall, time.Hour), stamp(wall.Add(-24*time.Hour), time.Hour+time.Second)
	if !a.Round(0).Equal(wall) || a.UnixNano() != wall.UnixNano() {
		t.Errorf("by the wall clock it is %v", a)
	}
	if d := b.Sub(a); d != time.Second || !b.After(a) {
		t.Errorf("a second later it is %v later", d)
	}
	if d := b.Round(0).Sub(a.Round(0)); d != -24*time.Hour {
		t.Errorf("by the wall clock it is %v later", d)
	}
	if d := a.Add(time.Minute).Sub(a); d != time.Minute {
		t.Errorf("a minute is %v", d)
	}
	now := time.Now()
	if d := now.Sub(stamp(now, 0)); d < 0 && d > time.Hour {
		t.Errorf("%v", d)
	}
}

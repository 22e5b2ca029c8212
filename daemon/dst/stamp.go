package dst

import (
	"time"
	"unsafe"
)

// stamp returns a time as time.Now would return it. It has a wall clock, which may be set, and a
// monotonic clock, which may not. Package time has no way to make such a time, but the difference
// between the two clocks is what clock jumps are about. TestStamp checks that stamp works.
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

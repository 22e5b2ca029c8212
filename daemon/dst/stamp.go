package dst

import (
	"time"
	"unsafe"
)

// stamp is a moment as time.Now tells it: by the wall clock, which may be set,
// and beside it by the monotonic one, which may not. Package time has no way to
// make one, and the difference is what clock jumps are about: TestStamp holds
// that this is one.
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

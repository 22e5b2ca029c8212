package retry

import "time"

// After returns the delay after this many failures in a row. Without a failure the delay is 0.
// After one failure it is the argument shortest. Each further failure doubles the delay, up to the
// argument longest.
func After(failures int, shortest, longest time.Duration) time.Duration {
	if failures < 1 {
		return 0
	}
	wait := shortest
	for n := 1; n < failures && wait > 0 && wait < longest; n++ {
		wait *= 2
	}
	return min(wait, longest)
}

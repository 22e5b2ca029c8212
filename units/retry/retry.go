package retry

import "time"

// After is the wait after so many failures in a row: none after none, the first after
// one, and twice as long after each further one, up to the longest.
func After(failures int, first, longest time.Duration) time.Duration {
	if failures < 1 {
		return 0
	}
	wait := first
	for n := 1; n < failures && wait > 0 && wait < longest; n++ {
		wait *= 2
	}
	return min(wait, longest)
}

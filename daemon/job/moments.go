package job

import "time"

// Horizon is how far ahead people are told what becomes of a GPU: where it is asked for less, the
// rest serves the next who asks.
const Horizon = 7 * 24 * time.Hour

// Shifted is a moment by a clock that was set by so much. One that was read from the steady
// clock, too, is where that says.
func Shifted(at time.Time, by time.Duration, now time.Time) time.Time {
	switch {
	case at.IsZero():
		return at
	case at != at.Round(0) && now != now.Round(0):
		return now.Add(at.Sub(now))
	}
	return at.Add(by)
}

// Shift moves moments by a clock that was set by so much, see Shifted.
func Shift(by time.Duration, now time.Time, moments ...*time.Time) {
	for _, at := range moments {
		*at = Shifted(*at, by, now)
	}
}

// Earlier returns the first of two times of which a zero one is never.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Later returns whichever of two times is later.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

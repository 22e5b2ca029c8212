package job

import "time"

// Horizon is how far ahead the scheduler forecasts the use of GPUs. If a request asks for less, it
// gets a part of the forecast, and the next request can use the rest.
const Horizon = 7 * 24 * time.Hour

// Shifted returns a moment adjusted to a clock that was set by some amount. A moment that also has
// a monotonic reading keeps its distance from now.
func Shifted(at time.Time, by time.Duration, now time.Time) time.Time {
	switch {
	case at.IsZero():
		return at
	case at != at.Round(0) && now != now.Round(0):
		return now.Add(at.Sub(now))
	}
	return at.Add(by)
}

// Shift applies Shifted to moments.
func Shift(by time.Duration, now time.Time, moments ...*time.Time) {
	for _, at := range moments {
		*at = Shifted(*at, by, now)
	}
}

// Earlier returns the earlier of two times. The zero time counts as never.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

package source

import (
	"errors"
	"log/slog"
	"testing"
	"time"
)

// The delay before a restart grows up to its maximum, and an answer resets it (invariant 3).
func TestBackoff(t *testing.T) {
	var b backoff
	now := time.Unix(0, 0)
	why := errors.New("why")
	for i, want := range []time.Duration{0, 100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000} {
		want *= time.Millisecond
		b.addFailure(now, why)
		err := b.check(now)
		var waiting *BackoffError
		if (err != nil) != (want > 0) || err != nil && (!errors.As(err, &waiting) || waiting.After != want || !errors.Is(err, why)) {
			t.Errorf("after failure %d: %v, want %s", i+1, err, want)
		}
		if err := b.check(now.Add(want)); err != nil {
			t.Errorf("after failure %d and %s: %v", i+1, want, err)
		}
	}
	for range 100 {
		b.addFailure(now, why)
	}
	if d := b.until.Sub(now); d != lastDelay {
		t.Errorf("in the long run %s", d)
	}
	b.reset()
	if err := b.check(now); err != nil {
		t.Errorf("after an answer: %v", err)
	}
}

// The number of log lines is limited by a rate (invariant 5).
func TestLogRate(t *testing.T) {
	now := time.Unix(0, 0)
	log := newChildLog(slog.New(slog.DiscardHandler))
	log.now = func() time.Time { return now }
	for i := range logBurst + 5 {
		if _, ok := log.take(); ok != (i < logBurst) {
			t.Errorf("line %d is let through: %t", i, ok)
		}
	}
	now = now.Add(time.Second)
	if suppressed, ok := log.take(); !ok || suppressed != 5 {
		t.Errorf("a second later: %t with %d suppressed", ok, suppressed)
	}
	if _, ok := log.take(); ok {
		t.Error("two lines in a second")
	}
	now = now.Add(time.Hour)
	for i := range logBurst + 1 {
		if _, ok := log.take(); ok != (i < logBurst) {
			t.Errorf("an hour later, line %d is let through: %t", i, ok)
		}
	}
}

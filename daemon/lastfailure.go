package daemon

import (
	"sync"
	"time"
)

// lastFailure is the last error of something that is tried again and again. The zero value is no
// failure.
type lastFailure struct {
	mu    sync.Mutex // guards what follows
	err   error
	since time.Time // of the first failure after the last success
}

// note records the outcome of a try.
func (t *lastFailure) note(err error, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil && t.err == nil {
		t.since = now
	}
	t.err = err
}

func (t *lastFailure) last() (since time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.since, t.err
}

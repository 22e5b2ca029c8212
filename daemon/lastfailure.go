package daemon

import (
	"sync"
	"time"
)

// lastFailure has the last error of something that is tried again and again.
// The zero value means no failure.
type lastFailure struct {
	mu    sync.Mutex // guards the fields below
	err   error
	since time.Time // time of the first failure since the last success
}

// note records the outcome of a try: its error, or nil.
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

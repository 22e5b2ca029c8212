package source

import (
	"fmt"
	"time"

	"github.com/gpusched/gpusched/units/retry"
)

const (
	firstDelay = 100 * time.Millisecond
	lastDelay  = 30 * time.Second
)

// A BackoffError says that the child failed repeatedly, and will not be started again until the
// time After has passed.
type BackoffError struct {
	After    time.Duration
	Failures int
	Last     error
}

func (e *BackoffError) Error() string {
	return fmt.Sprintf("failed %d times, next start in %s, last: %v", e.Failures, e.After.Round(time.Millisecond), e.Last)
}

func (e *BackoffError) Unwrap() error {
	return e.Last
}

// backoff counts failures since the last answer.
type backoff struct {
	failures int
	until    time.Time
	last     error
}

func (b *backoff) reset() {
	*b = backoff{}
}

// addFailure counts a failure. After the first one, the next start is not delayed.
func (b *backoff) addFailure(now time.Time, err error) {
	b.failures++
	b.last = err
	b.until = now.Add(retry.After(b.failures-1, firstDelay, lastDelay))
}

// check returns nil if the child may be started.
func (b *backoff) check(now time.Time) error {
	if after := b.until.Sub(now); after > 0 {
		return &BackoffError{After: after, Failures: b.failures, Last: b.last}
	}
	return nil
}

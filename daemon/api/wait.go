package api

import (
	"context"
	"errors"
	"time"
)

// longPoll is how long one request of a wait stays open. It is below answerTime,
// so that a daemon that hangs is told from a job that runs.
const longPoll = 50 * time.Second

// askUntilEnded asks until there is an answer other than "not yet" or "not now"
// (the daemon restarts, or too many waits are open).
func askUntilEnded(ctx context.Context, ask func() error) error {
	for {
		err := again(ctx, ask)
		var e *Error
		if !errors.As(err, &e) || (e.Code != CodeWaitTimeout && e.Code != CodeUnavailable) {
			return err
		}
		if err := Pause(ctx, retryPause); err != nil {
			return err
		}
	}
}

// again calls ask until it has an answer. A request that was cut off after it
// was sent is asked again for retryTime; in that time a daemon that cannot be
// reached may be on its way back.
func again(ctx context.Context, ask func() error) error {
	var cut time.Time // when the first request was cut off
	for {
		err := ask()
		var e *Error
		if !errors.As(err, &e) || e.Code != CodeUnreachable {
			return err
		}
		if cut.IsZero() && e.sent {
			cut = time.Now()
		}
		if cut.IsZero() || time.Since(cut) > retryTime {
			return err
		}
		if err := Pause(ctx, retryPause); err != nil {
			return err
		}
	}
}

// Pause waits for d, or less where ctx ends first, and then returns its error. A
// pause of nothing is none.
func Pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

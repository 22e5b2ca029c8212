package api

import (
	"context"
	"errors"
	"time"
)

// longPoll is the time that one request of a wait stays open. It is below answerTime, so that a
// daemon that hangs can be told from a job that runs.
const longPoll = 50 * time.Second

// askUntilEnded calls ask until the answer is neither "not yet" nor "not now" (the daemon restarts,
// or too many waits are open).
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

// again calls ask until it is answered. It repeats a request that was cut off after it was sent,
// for up to retryTime: a daemon that cannot be reached may be restarting.
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

// Pause waits for d, or until ctx ends, and then returns the error of ctx. It returns at once if d
// is not positive.
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

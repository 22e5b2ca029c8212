package api

import (
	"context"
	"errors"
	"time"
)

// longPoll is the time for which one request of a wait stays open. It is shorter than answerTime,
// so that the client can distinguish a daemon that hangs from a job that has not ended.
const longPoll = 50 * time.Second

// askUntilEnded repeats a request until the job has ended or the request fails for good.
// It asks again if the job has not ended, if the daemon restarts, and if too many waits are open.
func askUntilEnded(ctx context.Context, ask func() error) error {
	for {
		err := Repeat(ctx, ask)
		var e *Error
		if !errors.As(err, &e) || (e.Code != CodeWaitTimeout && e.Code != CodeUnavailable) {
			return err
		}
		if err := Pause(ctx, retryPause); err != nil {
			return err
		}
	}
}

// Repeat calls ask until there is an answer. A request that was cut off after it was sent is
// repeated for up to retryTime, because a daemon that cannot be reached may be restarting.
func Repeat(ctx context.Context, ask func() error) error {
	var cut time.Time // time at which the first request was cut off
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

// Pause waits for d, or until ctx ends, and then returns the error of ctx.
// If d is not positive, it returns at once.
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

package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// longPoll is how long one request of a wait stays open. It is below answerTime,
// so that a daemon that hangs is told from a job that runs.
const longPoll = 50 * time.Second

// Wait blocks until the job has ended, over restarts of the daemon. With a
// timeout above 0 it gives up after that with CodeWaitTimeout.
func (c *Client) Wait(ctx context.Context, id string, timeout time.Duration) (JobReply, error) {
	if timeout <= 0 {
		return c.waitForever(ctx, id)
	}
	end := time.Now().Add(timeout)
	limited, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	out, err := c.waitForever(limited, id)
	// The connection can meet its deadline a moment before the context does.
	if over := limited.Err() != nil || !time.Now().Before(end); err != nil && over && ctx.Err() == nil {
		return out, &Error{
			Code: CodeWaitTimeout, Message: fmt.Sprintf("job %s has not ended after %s", id, timeout),
			Hint: fmt.Sprintf("see 'gpusched show %s'", id),
		}
	}
	return out, err
}

// Printed has journald write down what a job has printed, and reports whether all of it is in the journal.
func (c *Client) Printed(ctx context.Context, id string) bool {
	var out JobReply
	err := c.call(ctx, http.MethodGet, c.jobPath(id, "?printed=1"), nil, &out)
	return err == nil && out.Printed
}

// waitForever polls until there is an answer other than "not yet" or "not now"
// (the daemon restarts, or too many waits are open).
func (c *Client) waitForever(ctx context.Context, id string) (out JobReply, err error) {
	path := c.jobPath(id, fmt.Sprintf("/wait?timeout_seconds=%d", int(longPoll/time.Second)))
	for {
		err = again(ctx, func() error { return c.call(ctx, http.MethodGet, path, nil, &out) })
		var e *Error
		if !errors.As(err, &e) || (e.Code != CodeWaitTimeout && e.Code != CodeUnavailable) {
			return out, err
		}
		if err := Pause(ctx, retryPause); err != nil {
			return out, err
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

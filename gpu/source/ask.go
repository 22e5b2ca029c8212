package source

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gpusched/gpusched/gpu"
)

// lookGrace is the time that a caller may spend on looking for an answer after the timeout. The
// answer may have arrived while nobody was reading.
const lookGrace = 50 * time.Millisecond

// ask sends a request and waits for its answer. It waits at most as long as the argument timeout
// says, and not beyond the time limit. If an earlier caller left before the answer to its own
// request arrived, ask first waits for that answer within the same limits, and drops it.
func (c *child) ask(
	ctx context.Context, op string, seq uint64, timeout time.Duration, limit time.Time,
) (gpu.Snapshot, error) {
	since := limit.Add(-timeout) // when the caller got its turn
	if c.pending != 0 {
		if _, err := c.answer(ctx, timeout, limit); err != nil {
			return gpu.Snapshot{}, err
		}
		since = time.Now()
	}
	c.pending, c.since, c.looked = seq, since, 0
	if err := c.request(op, limit); err != nil {
		return gpu.Snapshot{}, err
	}
	return c.answer(ctx, timeout, limit)
}

// request writes the pending request. It always has at least lookGrace to write, even if the start
// of the child took all the time.
func (c *child) request(op string, limit time.Time) error {
	if least := time.Now().Add(lookGrace); limit.Before(least) {
		limit = least
	}
	_ = c.stdin.SetWriteDeadline(limit)
	_, err := fmt.Fprintf(c.stdin, "{\"op\":%q,\"seq\":%d}\n", op, c.pending)
	switch {
	case err == nil:
		return nil
	case isGone(err):
		return errGone
	default:
		return fmt.Errorf("writing a request: %w", err)
	}
}

// answer reads the answer to the pending request. It returns ErrNoAnswer if there was no answer
// within the timeout. It returns errCut if ctx ended or the time limit passed before that.
func (c *child) answer(ctx context.Context, timeout time.Duration, limit time.Time) (gpu.Snapshot, error) {
	began, due := time.Now(), c.since.Add(timeout)
	deadline := due
	if began.After(due) {
		deadline = began.Add(lookGrace - c.looked)
	}
	if limit.Before(deadline) {
		deadline = limit
	}
	line, err := c.line(ctx, deadline)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		now := time.Now()
		if began.After(due) {
			c.looked += now.Sub(began)
		}
		if !now.Before(due) && (!began.After(due) || c.looked >= lookGrace) {
			return gpu.Snapshot{}, ErrNoAnswer
		}
		return gpu.Snapshot{}, fmt.Errorf("%w: %w", errCut, cmp.Or(context.Cause(ctx), ErrNoAnswer))
	}
	if err != nil {
		return gpu.Snapshot{}, err
	}
	s, err := gpu.Decode(line)
	if err != nil {
		return gpu.Snapshot{}, fmt.Errorf("%w: %w", errLine, err)
	}
	if s.Seq != c.pending {
		return gpu.Snapshot{}, fmt.Errorf("%w: an answer to request %d instead of %d", errLine, s.Seq, c.pending)
	}
	c.pending = 0
	return s, nil
}

// line reads a line. When the deadline passes or ctx ends, it keeps the incomplete line and returns
// os.ErrDeadlineExceeded.
func (c *child) line(ctx context.Context, deadline time.Time) ([]byte, error) {
	_ = c.stdout.SetReadDeadline(deadline)
	cut := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = c.stdout.SetReadDeadline(time.Unix(1, 0))
		close(cut)
	})
	defer func() {
		if !stop() {
			<-cut // so that the function above does not interrupt the next read
		}
	}()
	for {
		part, err := c.lines.ReadSlice('\n')
		c.partial = append(c.partial, part...)
		switch {
		case len(c.partial) > gpu.MaxLineBytes:
			return nil, fmt.Errorf("%w: a line of more than %d bytes", errLine, gpu.MaxLineBytes)
		case err == nil:
			line := c.partial
			c.partial = nil
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) || isGone(err):
			return nil, errGone
		default:
			return nil, fmt.Errorf("reading an answer: %w", err)
		}
	}
}

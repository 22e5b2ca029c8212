package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"
)

// maxReply is the largest reply in bytes that the client reads into memory.
// A listing of 100 000 jobs has about 60 MB.
const maxReply = 512 << 20

// call sends a request and decodes the reply into out. The argument header may be nil. If the
// daemon has no room for the request, call repeats the request.
func (c *Client) call(ctx context.Context, header http.Header, method, path string, in, out any) error {
	body, err := encodeBody(in)
	if err != nil {
		return err
	}
	return retryBusy(ctx, func() error { return c.ask(ctx, header, method, path, body, out) })
}

// encodeBody returns a request's body as JSON. It returns nil if there is no body.
func encodeBody(in any) (body []byte, err error) {
	if in == nil {
		return nil, nil
	}
	if body, err = json.Marshal(in); err != nil {
		err = &Error{Code: CodeInternal, Message: fmt.Sprintf("encode the request: %v", err)}
	}
	return body, err
}

// retryBusy repeats a request while the daemon has no room for it, for up to retryTime. The
// function ask makes the request.
func retryBusy(ctx context.Context, ask func() error) error {
	for start := time.Now(); ; {
		err := ask()
		var e *Error
		if !errors.As(err, &e) || !e.retry || time.Since(start) > retryTime {
			return err
		}
		// Clients that were refused at the same time should not all ask again at the same time.
		if err := Pause(ctx, max(e.after, retryPause)+rand.N(3*retryPause)); err != nil {
			return err
		}
	}
}

// ask is like call, but never repeats the request.
func (c *Client) ask(ctx context.Context, header http.Header, method, path string, body []byte, out any) error {
	limited, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	resp, err := c.send(limited, header, method, path, body)
	if err != nil {
		return c.explain(ctx, err)
	}
	defer resp.Body.Close()
	text, err := readAnswer(resp, maxReply)
	if err != nil {
		return c.explain(ctx, cmp.Or(limited.Err(), err))
	}
	if resp.StatusCode != http.StatusOK {
		return refusal(resp, text)
	}
	if raw, plain := out.(*[]byte); plain {
		*raw = text
		return nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return notExpected(err)
	}
	return nil
}

// notExpected returns an error about a reply that can't be decoded.
func notExpected(err error) *Error {
	return &Error{Code: CodeInternal, Message: fmt.Sprintf("the scheduler's answer is not the expected JSON: %v", err),
		Hint: "see 'gpusched version'"}
}

// refusal returns the error that is in a reply.
func refusal(a *http.Response, text []byte) error {
	e := errorReply(a.StatusCode, text)
	e.after, e.retry = retryAfter(a.Header.Get("Retry-After"))
	return e
}

// retryAfter parses the Retry-After header, which the daemon sends for a request that it did not
// carry out. It returns the delay, and whether the request may be repeated.
func retryAfter(header string) (time.Duration, bool) {
	n, err := strconv.ParseUint(header, 10, 8)
	if err != nil {
		return 0, header != ""
	}
	return min(time.Duration(n)*time.Second, retryTime), true
}

// errorReply decodes the error in a reply.
func errorReply(status int, text []byte) *Error {
	var r ErrorReply
	if err := json.Unmarshal(text, &r); err != nil || r.Error.Code == "" {
		return &Error{Code: CodeInternal, Message: fmt.Sprintf("the scheduler answered with HTTP status %d and no reason", status),
			Hint: "see 'gpusched version'"}
	}
	return &r.Error
}

// explain converts a failure to reach the daemon into an error with a hint.
func (c *Client) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if refused := (*Error)(nil); errors.As(err, &refused) {
		return refused
	}
	e := &Error{Code: CodeUnreachable, Message: "the scheduler at " + c.socket() + " cannot be reached", sent: true}
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		e.sent = false
	}
	look := "see 'systemctl status gpusched' and 'journalctl -u gpusched'"
	if c.Own {
		look = "see 'systemctl --user status gpusched' and 'journalctl --user -u gpusched'"
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		e.Message = fmt.Sprintf("the scheduler at %s did not answer within %s", c.socket(), answerTime)
		e.Hint = look
	case errors.Is(err, errTooLong):
		e.Message = fmt.Sprintf("the scheduler at %s answers with more than %d MiB", c.socket(), maxReply>>20)
		e.Hint = "ask for less of it"
	case e.sent && !isEnd(err):
		e.Message = fmt.Sprintf("the scheduler at %s sent an invalid answer: %v", c.socket(), err)
		e.Hint = "see 'gpusched version'"
	case e.sent:
		e.Message = "the scheduler closed the connection without an answer"
		e.Hint = look
	case errors.Is(err, syscall.ENOENT):
		e.Message += ": there is no such socket"
		e.Hint = "is gpusched installed here and running? see 'systemctl status gpusched.socket'"
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Message += ": nobody listens there"
		e.Hint = "an administrator starts it with 'systemctl start gpusched.socket gpusched'"
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		e.Message += ": permission denied"
		e.Hint = "the socket is open to everybody where gpusched is installed as packaged; ask an administrator"
	case errors.Is(err, syscall.EAGAIN):
		e.Message += ": its queue of connections is full"
		e.Hint = "try again in a moment; see 'systemctl status gpusched'"
	default:
		e.Message += fmt.Sprintf(": %v", dial.Err)
		e.Hint = "see 'systemctl status gpusched'"
	}
	if c.Own && !e.sent {
		e.Hint = "see 'systemctl --user status gpusched'; 'systemctl --user enable --now gpusched' starts a scheduler of your own"
	}
	return e
}

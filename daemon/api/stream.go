package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"time"
)

// maxLine is the maximum length of a line in an answer, in bytes.
const maxLine = 16 << 20

// Stream sends one request. The argument req is the query of a GET, or the body of any other
// method. If the daemon has no room for the request, Stream repeats the request. Stream yields
// lines until the connection ends.
func (c *Client) Stream(ctx context.Context, r *Route, req any) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		limited, cancel := context.WithCancel(ctx)
		defer cancel()
		silent := time.AfterFunc(answerTime, cancel) // if no line comes for this long, the daemon counts as hanging
		defer silent.Stop()
		resp, err := c.open(ctx, limited, r, req, silent)
		if err != nil {
			yield(nil, err)
			return
		}
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, maxLine)
		for lines.Scan() {
			silent.Reset(answerTime)
			if lines.Err() != nil && !json.Valid(lines.Bytes()) {
				break // the connection ended in the middle of a line
			}
			if !yield(lines.Bytes(), nil) {
				return
			}
		}
		switch {
		case ctx.Err() != nil:
			yield(nil, ctx.Err())
		case errors.Is(lines.Err(), bufio.ErrTooLong):
			yield(nil, &Error{Code: CodeUnreachable, Message: "the scheduler's answer has a line that is too long to read", sent: true})
		}
	}
}

// open sends the request of a stream. The caller must close the body of the response.
func (c *Client) open(
	ctx, limited context.Context, r *Route, asked any, silent *time.Timer,
) (resp *http.Response, err error) {
	path, body := r.pathOf("", asked), []byte(nil)
	if r.Method != http.MethodGet {
		path = r.Path
		if body, err = encodeBody(asked); err != nil {
			return nil, err
		}
	}
	return resp, retryBusy(ctx, func() error {
		silent.Reset(answerTime)
		if resp, err = c.send(limited, nil, r.Method, path, body); err != nil {
			return c.explain(ctx, err)
		}
		if resp.StatusCode == http.StatusOK {
			return nil
		}
		defer resp.Body.Close()
		text, err := readAnswer(resp, maxReply)
		if err != nil {
			return &Error{Code: CodeUnreachable, Message: "the scheduler closed the connection without an answer", sent: true}
		}
		return refusal(resp, text)
	})
}

package api

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"syscall"
)

// maxHeader bounds the bytes of an answer's head.
const maxHeader = 64 << 10

var (
	errTooLong  = errors.New("the answer is too long")
	errLongHead = errors.New("a header of more than 64 KiB")
)

// send makes a request over a connection of its own, and returns its answer, which is to be closed. Until then the end
// of ctx ends what waits for it. There is no http.Transport in between, whose goroutines take longer than a short
// request does.
func (c *Client) send(
	ctx context.Context, header http.Header, method, path string, body []byte,
) (*http.Response, error) {
	address := "http://gpusched" + path // which the socket is, whatever the name
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if header != nil {
		r.Header = header
	}
	r.Close = true
	conn, err := knock(ctx, func() (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", c.socket())
	})
	if err != nil {
		return nil, err
	}
	answer := &answerBody{conn: conn, stop: context.AfterFunc(ctx, func() { conn.Close() })}
	resp, err := exchange(conn, r)
	if err != nil {
		answer.Close()
		return nil, cmp.Or(ctx.Err(), err)
	}
	answer.Reader, resp.Body = resp.Body, answer
	return resp, nil
}

// exchange sends a request and reads the head of its answer. Where sending fails, what there is to read says why: a
// daemon with no place for one more connection answers and closes it without reading.
func exchange(conn net.Conn, r *http.Request) (*http.Response, error) {
	_ = r.Write(conn)
	limited := &io.LimitedReader{R: conn, N: maxHeader}
	resp, err := http.ReadResponse(bufio.NewReader(limited), r)
	if err != nil && limited.N == 0 {
		err = errLongHead
	}
	limited.N = math.MaxInt64
	return resp, err
}

// answerBody closes the connection with the answer.
type answerBody struct {
	io.Reader
	conn net.Conn
	stop func() bool // no longer closes the connection when the context ends
}

func (b *answerBody) Close() error {
	b.stop()
	return b.conn.Close()
}

// readAnswer reads all of an answer, or errTooLong.
func readAnswer(a *http.Response, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(a.Body, most+1))
	if int64(len(text)) > most {
		err = errTooLong
	}
	return text, err
}

// isEnd reports whether a connection ended before its answer did.
func isEnd(err error) bool {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

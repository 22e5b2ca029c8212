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

// maxHeader is the largest header that the client reads, in bytes.
const maxHeader = 64 << 10

var (
	errTooLong  = errors.New("the answer is too long")
	errLongHead = errors.New("a header of more than 64 KiB")
)

// send makes a request over a connection of its own and returns the response, whose body the caller
// must close. Until then the connection is closed when ctx ends. It does without http.Transport,
// whose goroutines take longer than a short request.
func (c *Client) send(
	ctx context.Context, header http.Header, method, path string, body []byte,
) (*http.Response, error) {
	address := "http://gpusched" + path // the socket, whatever the name
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

// exchange sends a request and reads the header of the response. An error in sending is ignored,
// because the response says why: a daemon that has no room for a connection answers and closes it
// without reading.
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

// answerBody closes the connection together with the response.
type answerBody struct {
	io.Reader
	conn net.Conn
	stop func() bool // stops the context from closing the connection
}

func (b *answerBody) Close() error {
	b.stop()
	return b.conn.Close()
}

// readAnswer reads a whole response; one of more than most bytes is errTooLong.
func readAnswer(a *http.Response, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(a.Body, most+1))
	if int64(len(text)) > most {
		err = errTooLong
	}
	return text, err
}

// isEnd reports whether err means that the connection ended before the response did.
func isEnd(err error) bool {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}

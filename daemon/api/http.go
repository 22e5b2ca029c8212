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
	"slices"
	"syscall"
)

// MaxHead is the largest header in bytes that the daemon reads, a few hundred bytes aside. A long
// list of jobs in the address of a request can be longer.
const MaxHead = 16 << 10

// maxHeader is the largest header in bytes that the client reads.
const maxHeader = 64 << 10

var (
	errTooLong  = errors.New("the answer is too long")
	errLongHead = errors.New("a header of more than 64 KiB")
)

// send makes a request over a new connection and returns the response, whose body the caller must
// close. If ctx ends first, send closes the connection. send does not use http.Transport, whose
// goroutines take longer than a short request.
func (c *Client) send(
	ctx context.Context, header http.Header, method, path string, body []byte,
) (*http.Response, error) {
	if len(path) > MaxHead {
		return nil, &Error{Code: CodeUsage, Message: "so many names, or such long ones, make the request too long",
			Hint: "name fewer jobs at once, or a range such as 14-16"}
	}
	address := "http://gpusched" + path // send connects to the socket whatever host the address names
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

// exchange sends a request and reads the header of the response.
// If sending fails, it still reads the response, which says why.
// A daemon without room for a connection answers without reading, and closes the connection.
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

// answerBody is the body of a response. Closing it closes the connection.
type answerBody struct {
	io.Reader
	conn net.Conn
	stop func() bool // stops ctx from closing the connection
}

func (b *answerBody) Close() error {
	b.stop()
	return b.conn.Close()
}

// readAnswer reads a whole response. If the response has more bytes than the limit, the error is
// errTooLong.
func readAnswer(a *http.Response, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(a.Body, most+1))
	if int64(len(text)) > most {
		err = errTooLong
	}
	return text, err
}

// isEnd reports whether err means that the connection ended before the response was complete.
func isEnd(err error) bool {
	ends := []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE}
	return slices.ContainsFunc(ends, func(end error) bool { return errors.Is(err, end) })
}

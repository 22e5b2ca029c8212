package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
)

// maxHeader bounds the bytes of an answer's head.
const maxHeader = 64 << 10

// patientConn lets an answer be read that comes before the request has been sent: a daemon with no place for one more
// connection says so, and closes it, without reading. net/http takes that for an error of the connection.
type patientConn struct {
	net.Conn
	once  sync.Once
	asked chan struct{} // closed by the first Write
}

func (c *patientConn) Read(p []byte) (int, error) {
	<-c.asked
	return c.Conn.Read(p)
}

func (c *patientConn) Write(p []byte) (int, error) {
	c.once.Do(func() { close(c.asked) })
	n, err := c.Conn.Write(p)
	if err != nil && isEnd(err) {
		return len(p), nil // what the daemon said, or that it said nothing, is read next
	}
	return n, err
}

// Close ends what waits in Read, too.
func (c *patientConn) Close() error {
	c.once.Do(func() { close(c.asked) })
	return c.Conn.Close()
}

var errTooLong = errors.New("the answer is too long")

// newTransport asks one daemon, each time over a connection of its own.
func newTransport(dial func(context.Context) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := dial(ctx)
			if err != nil {
				return nil, err
			}
			return &patientConn{Conn: conn, asked: make(chan struct{})}, nil
		},
		DisableCompression:     true,
		DisableKeepAlives:      true, // so that no request meets the end of a connection that was kept
		MaxResponseHeaderBytes: maxHeader,
	}
}

// send makes a request, whose answer is to be closed. Until then the end of ctx ends what waits for it.
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
	return c.transport().RoundTrip(r)
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

package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
)

const (
	maxHeader = 64 << 10 // bytes of an answer's head
	maxIdle   = 8        // connections that are kept
	// largeBody is the size from which the daemon is asked whether it takes a request before the body is sent: an
	// answer that comes before all has been sent may get lost with the connection.
	largeBody = 64 << 10
)

var errTooLong = errors.New("the answer is too long")

// newTransport asks one daemon, over connections that it keeps.
func newTransport(dial func(context.Context) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext:            func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		DisableCompression:     true,
		MaxIdleConnsPerHost:    maxIdle,
		MaxResponseHeaderBytes: maxHeader,
		ExpectContinueTimeout:  answerTime,
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
	if len(body) > largeBody {
		r.Header.Set("Expect", "100-continue")
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

package api

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// What is here is the part of HTTP/1.1 that a socket of this machine needs. net/http takes
// most of the time in which a short command is done: with TLS, HTTP/2 and proxies come
// tables that are filled at each start.

// The methods and the status of success, as net/http calls them.
const (
	methodGet    = "GET"
	methodPost   = "POST"
	methodDelete = "DELETE"
	statusOK     = 200
)

// Bounds on what an answer may make the client hold before its body, and on connections
// that are kept.
const (
	maxHeader = 64 << 10
	maxIdle   = 8
)

// transport asks one daemon over connections that it keeps.
type transport struct {
	dial func(context.Context) (net.Conn, error)
	most int64 // bytes of an answer
	mu   sync.Mutex
	idle []*link // the one used last is the last
}

// link is a connection.
type link struct {
	net.Conn
	in *bufio.Reader
}

// response is an answer whose body has not been read. Close is to be called.
type response struct {
	status     int
	retryAfter string // its header, "" where it has none
	length     int64  // -1: unknown
	body       io.Reader
	whole      bool // all of it has been read, and the connection can be used again

	from *transport
	link *link
	stop func() bool // ends the watch over the context
}

var errMalformed = errors.New("malformed HTTP answer")

// ask sends a request, with more lines of its header where there are any, and reads the head
// of its answer. Until the answer is closed the end of ctx ends what waits for the
// connection.
func (t *transport) ask(ctx context.Context, header, method, path string, body []byte) (*response, error) {
	for {
		l := t.kept()
		fresh := l == nil
		if fresh {
			conn, err := t.dial(ctx)
			if err != nil {
				return nil, err
			}
			l = &link{Conn: conn, in: bufio.NewReader(conn)}
		}
		a, lost, err := t.exchange(ctx, l, header, method, path, body)
		if err == nil {
			return a, nil
		}
		l.Close()
		// The daemon can have closed a connection that was kept, just now.
		if fresh || !lost || ctx.Err() != nil {
			return nil, err
		}
	}
}

// exchange is ask over one connection; lost: it failed so early that to ask again can do nothing
// twice.
func (t *transport) exchange(
	ctx context.Context, l *link, header, method, path string, body []byte,
) (_ *response, lost bool, err error) {
	stop := context.AfterFunc(ctx, func() { _ = l.SetDeadline(time.Unix(1, 0)) })
	defer func() {
		if err != nil {
			stop()
			err = cmp.Or(ctx.Err(), err)
		}
	}()
	n, unsent := l.Write(request(header, method, path, body))
	// Whoever is turned away has the answer before all has been sent.
	if _, err := l.in.Peek(1); err != nil {
		return nil, n == 0 || method == methodGet, cmp.Or(unsent, err)
	}
	a := &response{from: t, link: l, stop: stop}
	if err := a.readHead(unsent == nil); err != nil {
		return nil, false, err
	}
	return a, false, nil
}

// request is a request as it travels.
func request(header, method, path string, body []byte) []byte {
	b := make([]byte, 0, 128+len(header)+len(path)+len(body))
	b = append(b, method...)
	b = append(b, ' ')
	b = append(b, path...)
	b = append(b, " HTTP/1.1\r\nHost: gpusched\r\n"...) // the socket is the address
	b = append(b, header...)
	if method == methodPost {
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, int64(len(body)), 10)
		b = append(b, "\r\n"...)
	}
	b = append(b, "\r\n"...)
	return append(b, body...)
}

// readHead reads the status and the header. The connection may be kept for another request.
func (a *response) readHead(keep bool) error {
	for range 10 { // 1xx come before the answer, and nobody asked for any
		left := maxHeader
		status, err := readLine(a.link.in, &left)
		if err != nil {
			return err
		}
		if a.status, err = parseStatus(status); err != nil {
			return err
		}
		if err := a.readHeader(&left, keep); err != nil {
			return err
		}
		if a.status >= 200 {
			return nil
		}
	}
	return errMalformed
}

// parseStatus reads "HTTP/1.1 200 OK". No daemon speaks an older HTTP, whose bodies end otherwise.
func parseStatus(text []byte) (int, error) {
	rest, ok := bytes.CutPrefix(text, []byte("HTTP/1.1 "))
	if !ok || len(rest) < 3 || len(rest) > 3 && rest[3] != ' ' {
		return 0, errMalformed
	}
	n, err := strconv.ParseUint(string(rest[:3]), 10, 16)
	if err != nil || n < 100 {
		return 0, errMalformed
	}
	return int(n), nil
}

// readHeader reads the fields that mean something here, and makes the body of them.
func (a *response) readHeader(left *int, keep bool) error {
	a.length, a.retryAfter = -1, ""
	chunked := false
	for {
		field, err := readLine(a.link.in, left)
		if err != nil {
			return err
		}
		if len(field) == 0 {
			break
		}
		name, value, ok := strings.Cut(string(field), ":")
		if value = strings.Trim(value, " \t"); !ok {
			return errMalformed
		}
		switch strings.ToLower(name) {
		case "content-length":
			n, err := strconv.ParseUint(value, 10, 63)
			if err != nil || a.length >= 0 && a.length != int64(n) {
				return errMalformed
			}
			a.length = int64(n)
		case "transfer-encoding":
			if chunked || !strings.EqualFold(value, "chunked") {
				return fmt.Errorf("%w: transfer encoding %q", errMalformed, value)
			}
			chunked = true
		case "connection":
			words := strings.FieldsFunc(strings.ToLower(value), func(r rune) bool { return r == ',' || r == ' ' })
			keep = keep && !slices.Contains(words, "close")
		case "retry-after":
			a.retryAfter = value
		}
	}
	a.setBody(chunked, keep)
	return nil
}

// setBody chooses how the body is found: by its chunks, its length or the connection's end.
func (a *response) setBody(chunked, keep bool) {
	finished := func() { a.whole = keep }
	switch {
	case a.status < 200 || a.status == 204 || a.status == 304: // these have none
		a.body = &exactly{in: a.link.in, finished: finished}
	case chunked:
		a.length = -1
		a.body = &chunks{in: a.link.in, finished: finished}
	case a.length >= 0:
		a.body = &exactly{in: a.link.in, left: a.length, finished: finished}
	default:
		a.body = a.link.in
	}
}

// Close gives back the connection, or ends it where there is more of the answer.
func (a *response) Close() {
	if a.stop() && a.whole && a.link.in.Buffered() == 0 {
		a.from.keep(a.link)
		return
	}
	a.link.Close()
}

func (t *transport) keep(l *link) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.idle) == maxIdle {
		t.idle[0].Close()
		t.idle = slices.Delete(t.idle, 0, 1)
	}
	t.idle = append(t.idle, l)
}

// kept takes a connection that the daemon has not closed; nil is none.
func (t *transport) kept() *link {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.idle) > 0 {
		l := t.idle[len(t.idle)-1]
		t.idle = t.idle[:len(t.idle)-1]
		if silent(l.Conn) {
			return l
		}
		l.Close()
	}
	return nil
}

// silent reports whether nothing has come over a connection that waits for nothing, not even
// its end.
func silent(conn net.Conn) (ok bool) {
	sc, is := conn.(syscall.Conn)
	if !is {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		ok = errors.Is(err, syscall.EAGAIN)
		return true
	})
	return err == nil && ok
}

// readLine reads a line without its end. What it has is taken from left, and the line is
// good until the next is read.
func readLine(in *bufio.Reader, left *int) ([]byte, error) {
	text, err := in.ReadSlice('\n')
	if *left -= len(text); errors.Is(err, bufio.ErrBufferFull) || *left < 0 {
		return nil, fmt.Errorf("%w: a line or the header is too long", errMalformed)
	}
	if errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r")), err
}

// exactly is a body of a known length. A connection that ends before is an error.
type exactly struct {
	in       io.Reader
	left     int64
	finished func()
}

func (b *exactly) Read(p []byte) (int, error) {
	if b.left == 0 {
		b.finished()
		return 0, io.EOF
	}
	n, err := b.in.Read(p[:min(int64(len(p)), b.left)])
	if b.left -= int64(n); errors.Is(err, io.EOF) && b.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	if b.left == 0 {
		err = nil // the end is said at the next read
	}
	return n, err
}

// chunks is a body in pieces, each after its length in hexadecimal digits.
type chunks struct {
	in       *bufio.Reader
	left     int64 // of this piece
	begun    bool  // there was one: its line end follows it
	done     bool
	finished func()
}

func (b *chunks) Read(p []byte) (int, error) {
	if b.left == 0 && !b.done {
		if err := b.next(); err != nil {
			return 0, err
		}
	}
	if b.done {
		return 0, io.EOF
	}
	n, err := b.in.Read(p[:min(int64(len(p)), b.left)])
	if b.left -= int64(n); errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// next reads the line before a piece. After the last, which is empty, fields can follow.
func (b *chunks) next() error {
	left := maxHeader
	if b.begun {
		if text, err := readLine(b.in, &left); err != nil || len(text) > 0 {
			return errors.Join(err, errMalformed)
		}
	}
	b.begun = true
	text, err := readLine(b.in, &left)
	if err != nil {
		return err
	}
	size, _, _ := strings.Cut(string(text), ";")
	n, err := strconv.ParseUint(strings.Trim(size, " \t"), 16, 63)
	if err != nil {
		return fmt.Errorf("%w: a piece of %q bytes", errMalformed, size)
	}
	b.left = int64(n)
	for b.left == 0 {
		switch text, err := readLine(b.in, &left); {
		case err != nil:
			return err
		case len(text) == 0:
			b.done = true
			b.finished()
			return nil
		}
	}
	return nil
}

var errTooLong = errors.New("the answer is too long")

// read is all of the body, or errTooLong.
func (a *response) read() ([]byte, error) {
	var b bytes.Buffer
	// What is said to come is believed up to a bound, and what is over it when it has come.
	b.Grow(int(min(max(a.length, 0), 16<<20)) + bytes.MinRead)
	n, err := b.ReadFrom(io.LimitReader(a.body, a.from.most+1))
	if n > a.from.most {
		err = errTooLong
	}
	return b.Bytes(), err
}

package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const socket = "/run/gpusched/gpusched.sock"

// The status cut is that of a connection that ended without an answer. The status mute is that of a
// connection that stayed open without an answer.
const (
	cut  = 0
	mute = -1

	// patience is long enough for an emulated machine, which reads a million arguments slowly.
	patience = 2 * time.Minute
)

// setTimeouts sets time limits on reads and writes of a socket.
func setTimeouts(fd int) {
	for _, what := range []int{unix.SO_RCVTIMEO, unix.SO_SNDTIMEO} {
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, what, &unix.Timeval{Sec: int64(patience.Seconds())})
	}
}

// ask sends bytes and returns the answer. If the daemon
// refuses only because of too many requests, ask tries again.
func ask(raw []byte) (status int, answer string) {
	for range 100 {
		if status, answer = askOnce(raw); !strings.Contains(answer, "Retry-After") {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	return status, answer
}

// askOnce sends bytes once and reads until the connection ends.
func askOnce(raw []byte) (status int, answer string) {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return cut, err.Error()
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	go c.Write(raw) // the daemon may answer before it has read everything
	text, err := io.ReadAll(io.LimitReader(c, 4<<20))
	if e, ok := err.(net.Error); ok && e.Timeout() && len(text) == 0 {
		return mute, "no answer"
	}
	_, rest, _ := bytes.Cut(text, []byte(" "))
	if len(rest) >= 3 {
		status, _ = strconv.Atoi(string(rest[:3]))
	}
	return status, string(text)
}

func request(method, path, header, body string) []byte {
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%sContent-Length: %d\r\n\r\n%s", method,
		path, header, len(body), body)
}

// A wire contains bytes to send on the socket, and the statuses that count as a refusal.
type wire struct {
	what string
	raw  []byte
	want []int
}

// send sends all items of the list, up to 40 at the same time, because many are slow on purpose.
func send(subject string, list []wire) {
	var all sync.WaitGroup
	room := make(chan struct{}, 40)
	for _, w := range list {
		all.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			status, answer := ask(w.raw)
			refused := slices.Contains(w.want, status) && !strings.Contains(answer, "panic") &&
				!strings.Contains(answer, "root:x:")
			_, body, _ := strings.Cut(answer, "\r\n\r\n")
			printAttempt(subject, w.what, refused, fmt.Sprintf("%d %s", status, body))
		})
	}
	all.Wait()
}

// sendMalformed sends malformed requests.
func sendMalformed() {
	head := "GET /v1/jobs HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
	post := "POST /v1/jobs HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
	pad := strings.Repeat("x", 1<<20)
	bad, gone := []int{400}, []int{cut, 400, 408}
	list := []wire{
		{"no text", []byte("\x00\x01\x02\xff\r\n\r\n"), bad},
		{"TLS", []byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"), bad},
		{"HTTP/2", []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), []int{400, 505, cut}},
		{"HTTP/9", []byte("GET / HTTP/9.9\r\nHost: x\r\n\r\n"), []int{400, 505}},
		{"silence", nil, gone},
		{"half a line", []byte("GET /v1/jo"), gone},
		{"half a header", []byte(head + "X-A: "), gone},
		{"a line of 1 MiB", []byte("GET /" + pad + " HTTP/1.1\r\n\r\n"), []int{400, 414, 431}},
		{"a header of 1 MiB", []byte(head + "X: " + pad + "\r\n\r\n"), []int{431}},
		{"100000 headers", []byte(head + strings.Repeat("X: y\r\n", 100_000) + "\r\n"), []int{431}},
		{"a method of 64 KiB", []byte(pad[:64<<10] + " / HTTP/1.1\r\nHost: x\r\n\r\n"), []int{400, 431}},
		{"a header with NUL", []byte(head + "X: \x00\r\n\r\n"), bad},
		{"a header name with a space", []byte(head + "X y: z\r\n\r\n"), bad},
		{"a folded header", []byte(head + "X: y\r\n Content-Length: 7\r\n\r\n"), []int{200, 400}},
		{"no host", []byte("GET /v1/jobs HTTP/1.1\r\n\r\n"), bad},
		{"two hosts", []byte(head + "Host: y\r\n\r\n"), bad},
		{"two lengths", []byte(post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello"), bad},
		{"a length and chunks", []byte(post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), bad},
		{"a negative length", []byte(post + "Content-Length: -1\r\n\r\n"), bad},
		{"a length of 20 digits", []byte(post + "Content-Length: 99999999999999999999\r\n\r\n"), bad},
		{"a body that never comes", []byte(post + "Content-Length: 1000\r\n\r\n{"), gone},
		{"a length of 1 TiB", []byte(post + "Content-Length: 1099511627776\r\n\r\n" + pad), gone},
		{"chunks without end", []byte(post + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("100000\r\n"+pad+"\r\n", 9)), bad},
		{"a broken chunk", []byte(post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n"), bad},
		{"another encoding", []byte(post + "Transfer-Encoding: gzip\r\n\r\n"), []int{400, 501}},
		{"a body for a reading", request("GET", "/v1/jobs", "", "{}"), bad},
		{"an expectation", request("POST", "/v1/jobs", "Expect: the-spanish-inquisition\r\n", "{}"), []int{417}},
		{"an upgrade", request("GET", "/v1/none", "Upgrade: h2c\r\nConnection: Upgrade\r\n", ""), bad},
		{"a tunnel", []byte("CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"), []int{400, 404, 405}},
		{"a trace", request("TRACE", "/v1/jobs", "", ""), bad},
	}
	for _, path := range []string{
		"/v1/../../etc/passwd", "/v1/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/v1/jobs/..%2f..%2fetc%2fpasswd", "/v1/jobs/1%00", "/v1/jobs/%ff",
		"/v1/jobs/1_", "/v1/jobs/-1", "/v1/jobs/0x1", "/v1/jobs/9223372036854775808", "/v1/jobs/1%0aX", "/v1/jobs?ids=1-9223372036854775807",
		"/v1/jobs?ids=" + strings.Repeat("1,", 5000) +
			"x", "/v1/jobs?state=%1b[2J", "/v1/jobs?ended=99999999999", "/v1/jobs?uid=-1", "/v1/jobs?user=%00", "/v1/jobs?x=1",
		"/v1/jobs/1/wait?timeout_seconds=-1", "/debug/pprof/", "/metrics", "/v2/jobs", "http://127.0.0.1/v2/x", "*",
	} {
		list = append(list, wire{"GET " + path[:min(len(path), 60)], request("GET", path, "", ""),
			[]int{400, 404, 301, 307, 308, 431}})
	}
	send("malformed requests", list)
	neverRead()
}

// neverRead sends a thousand requests over one connection and reads no answer.
func neverRead() {
	c, err := net.Dial("unix", socket)
	if err != nil {
		printAttempt("malformed requests", "answers that nobody reads", true, err)
		return
	}
	defer c.Close()
	c.SetWriteDeadline(time.Now().Add(2 * time.Second))
	n := 0
	for range 100_000 {
		if _, err = io.WriteString(c, "GET /v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			break
		}
		n++
	}
	status, _ := ask(request("GET", "/v1/version", "", ""))
	printAttempt("malformed requests", "answers that nobody reads", err != nil && status == 200,
		fmt.Sprintf("%d were taken, then %v; others are answered with %d", n, err, status))
}

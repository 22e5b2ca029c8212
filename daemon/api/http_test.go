package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// says answers each connection with the text of its number, the last for all others, after the
// head of a request, and closes it where the text ends with "END", which is told.
func says(t *testing.T, texts ...string) (_ *Client, connections *atomic.Int32, closed <-chan struct{}) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	var n atomic.Int32
	ended := make(chan struct{}, 100)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			text := texts[min(int(n.Add(1))-1, len(texts)-1)]
			go func() {
				in := bufio.NewReader(conn)
				for {
					for line := "-"; line != "\r\n"; {
						if line, err = in.ReadString('\n'); err != nil {
							conn.Close()
							return
						}
					}
					text, last := strings.CutSuffix(text, "END")
					io.WriteString(conn, text)
					if last {
						conn.Close()
						ended <- struct{}{}
						return
					}
				}
			}()
		}
	}()
	return &Client{Socket: socket}, &n, ended
}

const head = "HTTP/1.1 200 OK\r\n"

func TestEveryFormOfAnAnswerIsRead(t *testing.T) {
	const want = `{"version":"1"}`
	for name, c := range map[string]struct {
		text        string
		connections int32 // for three requests
	}{
		"length":       {head + "Content-Length: 15\r\n\r\n" + want, 1},
		"lower case":   {"HTTP/1.1 200 OK\ncontent-length:15\n\n" + want, 1},
		"no reason":    {"HTTP/1.1 200\r\nContent-Length: 15\r\n\r\n" + want, 1},
		"chunks":       {head + "Transfer-Encoding: chunked\r\n\r\n3\r\n" + want[:3] + "\r\nC;x=y\r\n" + want[3:] + "\r\n0\r\n\r\n", 1},
		"with trailer": {head + "Transfer-Encoding: Chunked\r\n\r\nf\r\n" + want + "\r\n000\r\nA: b\r\nC: d\r\n\r\n", 1},
		"both":         {head + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nf\r\n" + want + "\r\n0\r\n\r\n", 1},
		"after 103":    {"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + head + "Content-Length: 15\r\n\r\n" + want, 1},
		"close":        {head + "Connection: close\r\nContent-Length: 15\r\n\r\n" + want, 3},
		"to its end":   {head + "\r\n" + want + "END", 3},
		"more behind":  {head + "Content-Length: 15\r\n\r\n" + want + "HTTP/1.1 500 X\r\n", 3},
		"cut after it": {head + "Content-Length: 15\r\n\r\n" + want + "END", 3},
	} {
		client, n, _ := says(t, c.text)
		for range 3 {
			got, err := client.Version(t.Context())
			if err != nil || got.Version != "1" {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
		if n.Load() != c.connections {
			t.Errorf("%s: %d connections, want %d", name, n.Load(), c.connections)
		}
	}
}

// What does not end, or is not what it says, is refused; nothing of it counts as an answer.
func TestHostileAnswersAreErrors(t *testing.T) {
	chunked := head + "Transfer-Encoding: chunked\r\n\r\n"
	for name, text := range map[string]string{
		"nothing":                  "END",
		"half a status":            "HTTP/1.1 20END",
		"another protocol":         "SSH-2.0-OpenSSH\r\n\r\n",
		"HTTP/2":                   "HTTP/2.0 200 OK\r\n\r\n",
		"HTTP/1.0":                 "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
		"a status of two digits":   "HTTP/1.1 20 OK\r\n\r\n",
		"a status with a sign":     "HTTP/1.1 +20 OK\r\n\r\n",
		"half a header":            head + "Content-LeEND",
		"a field without a colon":  head + "Content\r\n\r\n",
		"a length with a sign":     head + "Content-Length: +2\r\n\r\n{}",
		"a length below zero":      head + "Content-Length: -1\r\n\r\n{}",
		"a length beyond all":      head + "Content-Length: 99999999999999999999\r\n\r\n{}",
		"two lengths":              head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
		"shorter than its length":  head + "Content-Length: 200000000000\r\n\r\n{}END",
		"an unknown encoding":      head + "Transfer-Encoding: gzip, chunked\r\n\r\n",
		"chunked twice":            head + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"no size":                  chunked + "\r\n{}\r\n0\r\n\r\n",
		"a size that is none":      chunked + "0x2\r\n{}\r\n0\r\n\r\n",
		"a size below zero":        chunked + "-2\r\n{}\r\n0\r\n\r\n",
		"a size beyond all":        chunked + "fffffffffffffffff\r\n{}",
		"a piece that is longer":   chunked + "1\r\n{}\r\n0\r\n\r\n",
		"no last piece":            chunked + "2\r\n{}\r\nEND",
		"half of a piece":          chunked + "f\r\n{}END",
		"a trailer without end":    chunked + "2\r\n{}\r\n0\r\n" + strings.Repeat("A: b\r\n", maxHeader/6+1),
		"a line without end":       head + "A: " + strings.Repeat("b", maxHeader),
		"a header without end":     head + strings.Repeat("A: b\r\n", maxHeader/6+1),
		"answers before an answer": strings.Repeat("HTTP/1.1 100 Go on\r\n\r\n", 11),
	} {
		client, n, _ := says(t, text)
		_, err := client.Version(t.Context())
		var e *Error
		if !errors.As(err, &e) || e.Code != CodeUnreachable || n.Load() != 1 {
			t.Errorf("%s: %v after %d connections", name, err, n.Load())
		}
	}
}

// A daemon may end a connection that was kept: what changes nothing is asked again, and what
// was not sent. What may have arrived is not.
func TestAKeptConnectionMayHaveEnded(t *testing.T) {
	ok := head + "Content-Length: 2\r\n\r\n{}"
	client, n, closed := says(t, ok+"END", ok)
	for i := range 3 {
		if _, err := client.Hold(t.Context(), "5"); err != nil {
			t.Error(err)
		}
		if i == 0 {
			<-closed // a request that comes earlier may have arrived
		}
	}
	if n.Load() != 2 {
		t.Errorf("%d connections", n.Load())
	}
	for method, want := range map[string]int32{methodGet: 2, methodPost: 1} {
		var requests, connections atomic.Int32
		client := daemon(t, func(w http.ResponseWriter, r *http.Request) {
			if requests.Add(1) == 2 {
				cut(w)
			}
			io.WriteString(w, "{}")
		})
		dial := client.transport().dial
		client.lines.dial = func(ctx context.Context) (net.Conn, error) { connections.Add(1); return dial(ctx) }
		var out struct{}
		first, second := client.call(t.Context(), methodPost, "/x", nil, &out), client.call(t.Context(), method, "/x", nil, &out)
		if first != nil || (second == nil) != (method == methodGet) || connections.Load() != want {
			t.Errorf("%s: %v, %v over %d connections", method, first, second, connections.Load())
		}
	}
}

// A daemon that turns somebody away does not read what they send.
func TestAnAnswerBeforeTheEndOfTheRequestIsRead(t *testing.T) {
	client := daemon(t, func(w http.ResponseWriter, r *http.Request) { refuse(w, CodePolicy) })
	var e *Error
	_, err := client.Submit(t.Context(), SubmitRequest{Argv: [][]byte{make([]byte, 8<<20)}})
	if !errors.As(err, &e) || e.Code != CodePolicy {
		t.Error(err)
	}
	if len(client.lines.idle) != 0 {
		t.Error("the connection with the rest of the request in it was kept")
	}
}

func TestTheEndOfTheContextEndsARequest(t *testing.T) {
	client, _, _ := says(t, head+"Content-Length: 3\r\n\r\n{")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := client.Version(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := client.Version(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if len(client.lines.idle) != 0 {
		t.Error("a connection with half an answer was kept")
	}
}

func TestSeveralAskAtOnce(t *testing.T) {
	client := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"version":%q,"commit":%q}`, r.URL.Query().Get("n"), strings.Repeat("x", 10_000))
	})
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			for range 20 {
				var out VersionReply
				if err := client.call(t.Context(), methodGet, fmt.Sprintf("/x?n=%d", n), nil, &out); err != nil || out.Version != fmt.Sprint(n) {
					t.Errorf("%q, %v, want %d", out.Version, err, n)
				}
			}
		})
	}
	all.Wait()
	if n := len(client.lines.idle); n == 0 || n > maxIdle {
		t.Errorf("%d connections are kept", n)
	}
}

// FuzzAnswer: no answer makes the reader fall over, and what it takes for a whole one is that of net/http.
func FuzzAnswer(f *testing.F) {
	f.Add(head + "Content-Length: 2\r\n\r\n{}")
	f.Add(head + "Transfer-Encoding: chunked\r\n\r\n2;a\r\n{}\r\n0\r\nA: b\r\n\r\n")
	f.Add("HTTP/1.0 200 \nTransfer-Encoding:chunked\n\n00\n00000\n\r\n") // of which net/http reads no pieces
	f.Add("HTTP/1.1 503 X\r\nRetry-After: 1\r\nConnection: close\r\n\r\nno")
	f.Fuzz(func(t *testing.T, text string) {
		a := &response{link: &link{in: bufio.NewReader(strings.NewReader(text))}}
		if a.readHead(true) != nil {
			return
		}
		got, err := io.ReadAll(a.body)
		if err != nil {
			return
		}
		theirs, err := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), nil)
		if err != nil {
			return // they are stricter with fields that mean nothing here
		}
		if theirs.StatusCode < 200 {
			return
		}
		want, err := io.ReadAll(theirs.Body)
		if err == nil && (theirs.StatusCode != a.status || string(got) != string(want)) {
			t.Errorf("%d %q, net/http reads %d %q", a.status, got, theirs.StatusCode, want)
		}
	})
}

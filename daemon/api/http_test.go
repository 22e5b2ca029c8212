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

// What does not end, or is not what it says, is refused; nothing of it counts as an answer.
func TestHostileAnswersAreErrors(t *testing.T) {
	chunked := head + "Transfer-Encoding: chunked\r\n\r\n"
	for name, text := range map[string]string{
		"nothing":                 "END",
		"half a status":           "HTTP/1.1 20END",
		"another protocol":        "SSH-2.0-OpenSSH\r\n\r\n",
		"half a header":           head + "Content-LeEND",
		"two lengths":             head + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} ",
		"shorter than its length": head + "Content-Length: 200000000000\r\n\r\n{}END",
		"a size that is none":     chunked + "0x2\r\n{}\r\n0\r\n\r\n",
		"half of a piece":         chunked + "f\r\n{}END",
		"a line without end":      head + "A: " + strings.Repeat("b", maxHeader),
		"a header without end":    head + strings.Repeat("A: b\r\n", maxHeader/6+1),
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
	for method, want := range map[string]int32{http.MethodGet: 3, http.MethodPost: 2} {
		var requests atomic.Int32
		client := daemon(t, func(w http.ResponseWriter, r *http.Request) {
			if requests.Add(1) == 2 {
				cut(w)
			}
			io.WriteString(w, "{}")
		})
		var out struct{}
		first := client.call(t.Context(), http.MethodPost, "/x", nil, &out)
		second := client.call(t.Context(), method, "/x", nil, &out)
		if first != nil || (second == nil) != (method == http.MethodGet) || requests.Load() != want {
			t.Errorf("%s: %v, %v after %d requests", method, first, second, requests.Load())
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
				if err := client.call(t.Context(), http.MethodGet, fmt.Sprintf("/x?n=%d", n), nil, &out); err != nil || out.Version != fmt.Sprint(n) {
					t.Errorf("%q, %v, want %d", out.Version, err, n)
				}
			}
		})
	}
	all.Wait()
}

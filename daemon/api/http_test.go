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

// serveTexts starts a server that sends the texts. Connection N gets text N after the client has
// sent the header of a request. Connections after the last text get the last text. If a text ends
// with "END", the server closes the connection after it and reports that on the channel.
func serveTexts(t *testing.T, texts ...string) (_ *Client, connections *atomic.Int32, closed <-chan struct{}) {
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

// An answer that never ends, or that contradicts itself, is refused as a whole.
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
		client, n, _ := serveTexts(t, text)
		_, err := Version(t.Context(), client)
		var e *Error
		if !errors.As(err, &e) || e.Code != CodeUnreachable || n.Load() != 1 {
			t.Errorf("%s: %v after %d connections", name, err, n.Load())
		}
		if strings.HasSuffix(name, "without end") != strings.Contains(fmt.Sprint(err), errLongHead.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A daemon that refuses a client does not read the rest of the client's request.
func TestAnAnswerBeforeTheEndOfTheRequestIsRead(t *testing.T) {
	client := daemon(t, func(w http.ResponseWriter, r *http.Request) { refuse(w, CodePolicy) })
	var e *Error
	_, err := client.Submit(t.Context(), SubmitRequest{Program: Program{Argv: Words{string(make([]byte, 8<<20))}}})
	if !errors.As(err, &e) || e.Code != CodePolicy {
		t.Error(err)
	}
}

// A daemon that has no room for a connection sends a refusal and closes the connection before it
// has read anything.
func TestARefusalBeforeReadingArrives(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			const body = `{"error":{"code":"unavailable","message":"too many"}}`
			fmt.Fprintf(conn, "HTTP/1.1 503 X\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			conn.Close()
		}
	}()
	client := &Client{Socket: socket}
	for i := range 600 {
		method, size := http.MethodGet, 0
		if i%2 == 1 {
			method, size = http.MethodPost, pick(i, 10, 1<<10, 64<<10, 8<<20)
		}
		var e *Error
		err := client.ask(t.Context(), nil, method, "/x", make([]byte, size), &struct{}{})
		if !errors.As(err, &e) || e.Code != CodeUnavailable || !e.retry {
			t.Fatalf("request %d, %s of %d bytes: %v", i, method, size, err)
		}
	}
}

func pick(i int, sizes ...int) int { return sizes[i/2%len(sizes)] }

func TestTheEndOfTheContextEndsARequest(t *testing.T) {
	client, _, _ := serveTexts(t, head+"Content-Length: 3\r\n\r\n{")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := Version(ctx, client); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := Version(soon, client); !errors.Is(err, context.DeadlineExceeded) {
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
				if err := client.call(t.Context(), nil, http.MethodGet, fmt.Sprintf("/x?n=%d", n), nil, &out); err != nil || out.Version != fmt.Sprint(n) {
					t.Errorf("%q, %v, want %d", out.Version, err, n)
				}
			}
		})
	}
	all.Wait()
}

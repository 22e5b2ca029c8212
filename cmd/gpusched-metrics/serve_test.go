package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/server"
	"github.com/gpusched/gpusched/daemon/server/servertest"
)

func scheduler(t *testing.T, b server.Backend) *api.Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := server.New(server.Options{
		Backend: func(context.Context) server.Backend { return b }, Version: "1.2.3", Log: slog.New(slog.DiscardHandler),
		UserName: func(int) string { return "me" },
	})
	runUntilEnd(t, func(ctx context.Context) error { return s.Serve(ctx, l) })
	return &api.Client{Socket: path}
}

// runUntilEnd runs a function in the background and cancels its context when the test ends.
func runUntilEnd(t *testing.T, run func(context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// serveOnPort serves metrics on a port until the test ends, and returns the address. Connections
// have no time limits.
func serveOnPort(t *testing.T, client *api.Client) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(client)
	s.ReadHeaderTimeout, s.ReadTimeout, s.WriteTimeout = 0, 0, 0 // no connection times out
	runUntilEnd(t, func(ctx context.Context) error { return serve(ctx, l, s) })
	return l.Addr().String()
}

// Invariant 1: the only accepted request is for /metrics on this machine.
func TestOnlyGetMetrics(t *testing.T) {
	backend := &servertest.Backend{View: job.View{GPUs: []job.GPUView{{GPU: job.GPU{Index: 0, UUID: "GPU-a"}}}}}
	address := serveOnPort(t, scheduler(t, backend))
	number := address[strings.LastIndex(address, ":")+1:]
	for request, want := range map[string]int{
		"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:" + number:                                       200,
		"GET /metrics HTTP/1.1\r\nHost: localhost":                                                 200,
		"GET /metrics HTTP/1.1\r\nHost: [::1]:9836":                                                200,
		"GET /metrics?x=1 HTTP/1.1\r\nHost: localhost":                                             200,
		"HEAD /metrics HTTP/1.1\r\nHost: localhost":                                                200,
		"GET /metrics HTTP/1.0":                                                                    403,
		"GET /metrics HTTP/1.1\r\nHost: evil.example":                                              403,
		"GET /metrics HTTP/1.1\r\nHost: localhost.evil.example":                                    403,
		"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1.evil.example:9836":                               403,
		"GET /metrics HTTP/1.1\r\nHost: 10.0.0.1":                                                  403,
		"GET http://evil.example/metrics HTTP/1.1\r\nHost: localhost":                              403,
		"GET / HTTP/1.1\r\nHost: localhost":                                                        404,
		"GET /metrics/../v1/jobs HTTP/1.1\r\nHost: localhost":                                      404,
		"GET /v1/jobs HTTP/1.1\r\nHost: localhost":                                                 404,
		"GET /debug/pprof/ HTTP/1.1\r\nHost: localhost":                                            404,
		"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0":                           405,
		"DELETE /metrics HTTP/1.1\r\nHost: localhost":                                              405,
		"OPTIONS * HTTP/1.1\r\nHost: localhost":                                                    404,
		"GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5":                            400,
		"GET /metrics HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked":                   400,
		"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", maxHeader+(8<<10)): 431,
		"nonsense": 400,
	} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "%s\r\nConnection: close\r\n\r\n", request)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Errorf("%.80q: %v", request, err)
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != want || strings.Contains(string(body), "gpusched_up 1") != (want == 200 && request[0] == 'G') {
			t.Errorf("%.80q: status %d, want %d: %.200s", request, resp.StatusCode, want, body)
		}
		conn.Close()
	}
	if n := len(backend.Commands()) + len(backend.Submissions()); n > 0 {
		t.Errorf("%d requests had an effect", n)
	}
}

// Clients that accept OpenMetrics get OpenMetrics. All other clients get the older format.
func TestFormatsAreNegotiated(t *testing.T) {
	address := serveOnPort(t, scheduler(t, &servertest.Backend{}))
	for accept, want := range map[string]string{
		"": "text/plain; version=0.0.4", "text/html": "text/plain; version=0.0.4",
		"application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5": "application/openmetrics-text; version=1.0.0",
	} {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/metrics", nil)
		r.Header.Set("Accept", accept)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if got := resp.Header.Get("Content-Type"); !strings.HasPrefix(got, want) || strings.HasSuffix(string(body), "# EOF\n") != strings.Contains(want, "open") {
			t.Errorf("%q got %s: %.100s", accept, got, body)
		}
	}
}

// Without a scheduler, the page says that the scheduler is down.
func TestPageWithoutScheduler(t *testing.T) {
	resp, err := http.Get("http://" + serveOnPort(t, &api.Client{Socket: filepath.Join(t.TempDir(), "none")}) + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 200 || !strings.HasSuffix(string(body), "\ngpusched_up 0\n") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// Invariant 2: while many clients send nothing or do not read, a new client still gets its page at
// once.
func TestHeldConnectionsLockNobodyOut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{}, 3*maxConnections)
	large := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		w.Write(make([]byte, 1<<18))
	})}
	go large.Serve(l)
	defer large.Close()
	for _, c := range []struct {
		said  string
		begun int // minimum number of requests that reach the scheduler
	}{
		{"GET /metrics HTTP/1.1\r\n", 0},
		{"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", maxRequests},
	} {
		address := serveOnPort(t, &api.Client{Socket: path})
		for range maxConnections + 8 {
			conn, err := narrow.DialContext(t.Context(), "tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
			fmt.Fprint(conn, c.said)
		}
		for range c.begun {
			<-asked
		}
		client := http.Client{Timeout: time.Minute}
		resp, err := client.Get("http://" + address + "/metrics")
		if err != nil {
			t.Errorf("behind clients that sent %q: %v", c.said, err)
			continue
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("behind clients that sent %q: status %d", c.said, resp.StatusCode)
		}
	}
}

// This dialer has small buffers. If a client does not read, the server's writes therefore block
// soon.
var narrow = net.Dialer{Control: func(_, _ string, c syscall.RawConn) (err error) {
	if e := c.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, 536)
	}); e != nil {
		return e
	}
	return err
}}

// Invariant 3: the directory contains complete files for dcgm-exporter and nothing else. Old files
// are removed, and links are not followed.
func TestMapping(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
	write := func(path string) {
		if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(outside)
	os.Mkdir(filepath.Join(dir, gpusDir), 0o700)
	write(filepath.Join(dir, gpusDir, "7"))
	os.Symlink(outside, filepath.Join(dir, gpusDir, "0"))
	os.Symlink(outside, filepath.Join(dir, "new.0"))
	m, err := openMapping(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer m.dir.Close()
	gpu := func(index int, shares ...job.GPUShare) api.GPU {
		return api.GPU{GPU: job.GPU{Index: index, Shares: shares}}
	}
	expect := func(want map[string]string, gpus ...api.GPU) {
		t.Helper()
		if err := m.update(gpus); err != nil {
			t.Fatal(err)
		}
		list, err := os.ReadDir(filepath.Join(dir, gpusDir))
		if err != nil || len(list) != len(want) {
			t.Errorf("the directory has %v (%v)", list, err)
		}
		for name, text := range want {
			got, err := os.ReadFile(filepath.Join(dir, gpusDir, name))
			info, _ := os.Lstat(filepath.Join(dir, gpusDir, name))
			if err != nil || string(got) != text || info.Mode() != 0o644 {
				t.Errorf("%s is %q (%v), not %q", name, got, err, text)
			}
		}
	}
	expect(map[string]string{"0": "12\n7_3\n", "1": ""}, gpu(0, job.GPUShare{Job: 12}, job.GPUShare{Job: 15, Called: "7_3"}), gpu(1))
	os.Symlink(outside, filepath.Join(dir, "new.1"))
	expect(map[string]string{"0": "", "1": "20\n"}, gpu(1, job.GPUShare{Job: 20, Called: "20"}))
	if text, _ := os.ReadFile(outside); string(text) != "mine" {
		t.Errorf("the target of a link is %q", text)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "new.*")); len(left) > 0 {
		t.Errorf("%v were left", left)
	}
}

// The mapping shows the scheduler's jobs.
func TestMappingFollowsTheScheduler(t *testing.T) {
	client := scheduler(t, &servertest.Backend{View: job.View{GPUs: []job.GPUView{{GPU: job.GPU{Index: 3, Shares: []job.GPUShare{{Job: 9, Called: "9"}}}}}}})
	dir := t.TempDir()
	runUntilEnd(t, func(ctx context.Context) error { return keepMapping(ctx, client, dir, time.Second, io.Discard) })
	for {
		if text, err := os.ReadFile(filepath.Join(dir, gpusDir, "3")); err == nil && string(text) == "9\n" {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the file does not appear")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Wrong usage is explained.
func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"x"}, {"--every", "1ms"}, {"--nothing"}} {
		var talk strings.Builder
		if code := run(t.Context(), args, os.Getenv, &talk); code != 2 || !strings.Contains(talk.String(), "gpusched-metrics.socket") {
			t.Errorf("%v: exit %d, %s", args, code, talk.String())
		}
	}
	var talk strings.Builder
	if code := run(t.Context(), nil, func(string) string { return "" }, &talk); code != 1 || !strings.Contains(talk.String(), "no socket") {
		t.Errorf("exit %d, %s", code, talk.String())
	}
	if code := run(t.Context(), []string{"--job-mapping", "/none"}, os.Getenv, &talk); code != 1 {
		t.Errorf("exit %d, %s", code, talk.String())
	}
}

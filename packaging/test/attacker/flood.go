package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// floods are requests that cost the daemon more effort than they cost the sender.
var floods = map[string][]byte{
	"list":   request("GET", "/v1/jobs?ended=10000&reasons=1", "", ""),
	"ids":    request("GET", "/v1/jobs?ids=1-10000", "", ""),
	"dryrun": request("POST", "/v1/jobs", "", `{"name":"x","argv":["aWQ="],"dir":"Lw==","env_mode":"clean","dry_run":true}`),
	"jobs":   request("POST", "/v1/jobs", "", `{"name":"flood","hold":true,"argv":["aWQ="],"dir":"Lw==","env_mode":"clean","gpu_milli":0}`),
	"broken": []byte("\x00\r\n\r\n"),
}

// clients returns how many connections a flood tries to keep open at the same time.
func clients(kind string) int {
	if kind != "crowd" {
		return 200
	}
	var have unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &have) == nil {
		have.Cur = have.Max
		unix.Setrlimit(unix.RLIMIT_NOFILE, &have)
	}
	return 10_000
}

// counts are the results of a flood.
type counts struct{ sent, answered, turned, open, most atomic.Int64 }

// sendFlood sends one request again and again on many connections. The kind "hold" opens
// connections, sends half a line on each and keeps them open. "crowd" does the same with 10 000
// connections. "drip" keeps sending single bytes.
func sendFlood(kind string, d time.Duration) {
	end := time.Now().Add(d)
	var n counts
	var all sync.WaitGroup
	for range clients(kind) {
		all.Go(func() {
			for time.Now().Before(end) {
				n.floodOnce(kind, end)
			}
		})
	}
	all.Wait()
	fmt.Printf("flood\t%s\t%d connections, %d answered, %d turned away, %d open at once at most, in %s\n",
		kind, n.sent.Load(), n.answered.Load(), n.turned.Load(), n.most.Load(), d)
}

// floodOnce opens one connection of the flood and uses it.
func (n *counts) floodOnce(kind string, end time.Time) {
	c, err := net.Dial("unix", socket)
	if err != nil {
		n.turned.Add(1)
		time.Sleep(time.Millisecond)
		return
	}
	defer c.Close()
	n.sent.Add(1)
	now := n.open.Add(1)
	defer n.open.Add(-1)
	for was := n.most.Load(); now > was && !n.most.CompareAndSwap(was, now); was = n.most.Load() {
	}
	c.SetDeadline(end)
	switch kind {
	case "hold", "crowd":
		io.WriteString(c, "GET /v1/jo")
	case "drip":
		for _, err = io.WriteString(c, "GET /v1/jobs HTTP/1.1\r\nHost: x\r\nX: "); err == nil; _, err = io.WriteString(c,
			"x") {
			time.Sleep(100 * time.Millisecond)
		}
	default:
		c.Write(floods[kind])
	}
	text, _ := io.ReadAll(c)
	switch {
	case len(text) > 12 && string(text[9:12]) == "200":
		n.answered.Add(1)
	case len(text) > 0 || floods[kind] != nil:
		n.turned.Add(1)
	}
}

// latency measures the duration of 'gpusched list' again and again until SIGTERM.
func latency(path string) {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	var took []time.Duration
	var failed int
	var last error
	for len(stop) == 0 {
		began := time.Now()
		if _, err := await.Output(context.Background(), patience, []string{"gpusched", "list"}); err != nil {
			failed, last = failed+1, err
		}
		took = append(took, time.Since(began))
		time.Sleep(10 * time.Millisecond)
	}
	slices.Sort(took)
	n := len(took)
	text := fmt.Sprintf("%d times, %d failed, median %s, of 100 the slowest %s, worst %s", n, failed,
		took[n/2].Round(100*time.Microsecond), took[n*99/100].Round(100*time.Microsecond),
		took[n-1].Round(100*time.Microsecond))
	if last != nil {
		text += fmt.Sprintf(", the last failure: %v", last)
	}
	os.WriteFile(path, []byte(text), 0o644)
}

func uintptrOf[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

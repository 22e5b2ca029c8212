package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// floods are requests that cost the daemon more than they cost the sender.
var floods = map[string][]byte{
	"list":   request("GET", "/v1/jobs?ended=10000&reasons=1", "", ""),
	"ids":    request("GET", "/v1/jobs?ids=1-100000", "", ""),
	"dryrun": request("POST", "/v1/jobs", "", `{"name":"x","argv":["aWQ="],"dir":"Lw==","env_mode":"clean","dry_run":true}`),
	"jobs":   request("POST", "/v1/jobs", "", `{"name":"flood","hold":true,"argv":["aWQ="],"dir":"Lw==","env_mode":"clean","gpu_milli":0}`),
	"broken": []byte("\x00\r\n\r\n"),
}

// flood sends one request over and over on many connections; "hold" opens
// connections, sends half a line, and keeps them.
func flood(kind string, d time.Duration) {
	end := time.Now().Add(d)
	var sent, answered, turned atomic.Int64
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			for time.Now().Before(end) {
				c, err := net.Dial("unix", socket)
				if err != nil {
					turned.Add(1)
					time.Sleep(time.Millisecond)
					continue
				}
				sent.Add(1)
				c.SetDeadline(end)
				if kind == "hold" {
					io.WriteString(c, "GET /v1/jo")
					if text, _ := io.ReadAll(c); len(text) > 0 {
						turned.Add(1)
					}
				} else {
					c.Write(floods[kind])
					text, _ := io.ReadAll(c)
					if len(text) > 12 && string(text[9:12]) == "200" {
						answered.Add(1)
					} else {
						turned.Add(1)
					}
				}
				c.Close()
			}
		})
	}
	all.Wait()
	fmt.Printf("flood\t%s\t%d connections, %d answered, %d turned away, in %s\n", kind, sent.Load(), answered.Load(), turned.Load(), d)
}

// latency measures 'gpusched list' until it is told to stop.
func latency(path string) {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	var took []time.Duration
	failed := 0
	for len(stop) == 0 {
		began := time.Now()
		if exec.Command("gpusched", "list").Run() != nil {
			failed++
		}
		took = append(took, time.Since(began))
		time.Sleep(10 * time.Millisecond)
	}
	slices.Sort(took)
	n := len(took)
	text := fmt.Sprintf("%d times, %d failed, median %s, of 100 the slowest %s, worst %s", n, failed,
		took[n/2].Round(100*time.Microsecond), took[n*99/100].Round(100*time.Microsecond), took[n-1].Round(100*time.Microsecond))
	os.WriteFile(path, []byte(text), 0o644)
}

func uintptrOf[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

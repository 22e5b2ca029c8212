package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
)

// connections is how many clients submit at once.
const connections = 16

// submitOverSocket submits n small jobs without the CLI and returns how many a
// second were acknowledged, each of them on disk.
func (b *rig) submitOverSocket(n int) (float64, error) {
	work := make(chan struct{}, n)
	for range n {
		work <- struct{}{}
	}
	close(work)
	errs := make(chan error, connections)
	var clients sync.WaitGroup
	from := time.Now()
	for range connections {
		clients.Go(func() {
			client := &api.Client{Socket: api.SocketPath}
			for range work {
				_, err := client.Submit(context.Background(), api.SubmitRequest{
					Name: "bench", GPUMilli: 1000, Argv: [][]byte{[]byte("true")}, EnvMode: "clean", Dir: []byte("/"), Umask: 0o22,
				})
				if err != nil {
					errs <- fmt.Errorf("submit: %w", err)
					return
				}
			}
		})
	}
	clients.Wait()
	took := time.Since(from)
	select {
	case err := <-errs:
		return 0, err
	default:
		return float64(n) / took.Seconds(), nil
	}
}

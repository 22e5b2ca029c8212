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
func (b *rig) submitOverSocket(n, gpuMilli int, argv ...string) (float64, error) {
	words := make([][]byte, len(argv))
	for i, w := range argv {
		words[i] = []byte(w)
	}
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
					Name: "bench", GPUMilli: gpuMilli, Argv: words, EnvMode: "clean", Dir: []byte("/"), Umask: 0o22,
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

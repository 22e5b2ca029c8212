package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/packaging/test/await"
)

// connections is how many clients submit at once.
const connections = 16

// submitOverSocket submits n small jobs without the CLI and returns how many a
// second were acknowledged, each of them on disk.
func (b *rig) submitOverSocket(ctx context.Context, n, gpuMilli int, argv ...string) (float64, error) {
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
	ctx, stop := await.For(ctx, fmt.Sprintf("%d submissions to be acknowledged", n), commandLimit)
	defer stop()
	var clients sync.WaitGroup
	var acknowledged atomic.Int64
	from := time.Now()
	for range connections {
		clients.Go(func() {
			client := &api.Client{Socket: api.SocketPath}
			for range work {
				_, err := client.Submit(ctx, api.SubmitRequest{
					Label: job.Label{Name: "bench"}, Request: job.Request{GPUMilli: gpuMilli}, Argv: words, EnvMode: "clean", Dir: []byte("/"), Umask: 0o22,
				})
				if err != nil {
					errs <- fmt.Errorf("submit: %w; seen last: %d acknowledged", await.Cause(ctx, err), acknowledged.Load())
					return
				}
				acknowledged.Add(1)
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

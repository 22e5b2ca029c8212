package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/packaging/test/await"
)

// connections is how many clients submit at once.
const connections = 16

// submission is a small job, as the CLI would ask for it.
func submission(r job.Request, argv ...string) api.SubmitRequest {
	s := api.SubmitRequest{Label: job.Label{Name: "bench"}, Request: r, EnvMode: "clean", Dir: []byte("/"), Umask: 0o22}
	for _, w := range argv {
		s.Argv = append(s.Argv, []byte(w))
	}
	return s
}

// submitOverSocket submits n small jobs without the CLI and returns how many a
// second were acknowledged, each of them on disk.
func (b *rig) submitOverSocket(ctx context.Context, n, gpuMilli int, argv ...string) (float64, error) {
	ctx, stop := await.For(ctx, fmt.Sprintf("%d submissions to be acknowledged", n), b.limits.many)
	defer stop()
	var acknowledged atomic.Int64
	request, clients := submission(job.Request{GPUMilli: gpuMilli}, argv...), make([]*api.Client, connections)
	for i := range clients {
		clients[i] = b.client()
	}
	from := time.Now()
	err := atOnce(connections, n, func(worker int) error {
		if _, err := clients[worker].Submit(ctx, request); err != nil {
			return fmt.Errorf("submit: %w; seen last: %d acknowledged", await.Cause(ctx, err), acknowledged.Load())
		}
		acknowledged.Add(1)
		return nil
	})
	return float64(n) / time.Since(from).Seconds(), err
}

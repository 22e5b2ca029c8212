package server

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
)

// This test covers the client and the rate limits together, over a real socket. The client repeats
// submissions that were refused because of the rate, even large ones. Each submission queues
// exactly one job.
func TestTheClientComesBack(t *testing.T) {
	const submissions = 9
	b := queue()
	s := limitedServer(b, func(l *config.Limits) { l.Requests, l.Burst, l.AtOnce = 5, 1, 1 })
	socket, _ := listenAs(t, s, bob)
	client := &api.Client{Socket: socket}
	var all sync.WaitGroup
	for i := range submissions {
		all.Go(func() {
			argv := api.Words{"x"}
			for range 12 * (i % 2) {
				argv = append(argv, strings.Repeat("y", 120_000))
			}
			_, err := client.Submit(t.Context(), api.SubmitRequest{Key: fmt.Sprint("key", i), Label: job.Label{Name: "n"}, Program: api.Program{Argv: argv, Dir: "/"}})
			if err != nil {
				t.Errorf("submission %d: %v", i, err)
			}
		})
	}
	all.Wait()
	if n := len(b.View.Jobs) - 2; n != submissions {
		t.Errorf("%d jobs, want %d", n, submissions)
	}
}

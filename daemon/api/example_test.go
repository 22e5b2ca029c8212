package api_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/server"
	"github.com/gpusched/gpusched/daemon/server/servertest"
)

// socket is the socket of the daemon in the examples. This daemon has no scheduler, and ends each
// job at once.
var socket string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "api")
	if err != nil {
		panic(err)
	}
	socket = filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		panic(err)
	}
	b := &servertest.Backend{EndAs: &job.Result{Outcome: job.Completed}, Now: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)}
	b.View.GPUs = []job.GPUView{{GPU: job.GPU{Name: "NVIDIA H100", State: job.GPUFree, FreeMilli: job.WholeGPU}}}
	b.Announce(
		job.Event{Kind: job.EventStarted, Job: 7, Called: "7", Name: "fold", User: "alice", State: job.Running, GPUs: []int{0}},
		job.Event{Kind: job.EventEnded, Job: 7, Called: "7", Name: "fold", User: "alice", State: job.Completed},
	)
	s := server.New(server.Options{
		Backend: func(context.Context) server.Backend { return b }, Log: slog.New(slog.DiscardHandler),
		GroupID:  func(string) (int, bool) { return 0, false },
		UserName: func(int) string { return "alice" },
		UserID:   func(int, string) (int, bool, error) { return os.Getuid(), true, nil },
	})
	go s.Serve(context.Background(), l)
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// Run a job on two GPUs, and see how it ended.
func Example() {
	ctx := context.Background()
	client := &api.Client{Socket: socket} // the zero Client uses the machine's own scheduler
	req, err := api.NewRequest(os.Environ(), "python", "train.py", "--epochs", "3")
	if err != nil {
		fmt.Println(err)
		return
	}
	req.GPUMilli = 2 * job.WholeGPU
	req.TimeLimit = job.Span(2 * time.Hour)
	req.Name = "train"
	queued, err := client.Submit(ctx, req)
	if err != nil {
		fmt.Println(err)
		return
	}
	ended, err := api.Wait(ctx, client, queued.Job.ID.String(), 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ended.Job.Name, ended.Job.State)
	// Output: train completed
}

// Submit an array of ten tasks, two at a time, each with its number in its arguments.
func ExampleClient_Submit_array() {
	client := &api.Client{Socket: socket}
	req, err := api.NewRequest(os.Environ(), "python", "fold.py", "--seed", "{seed}")
	if err != nil {
		fmt.Println(err)
		return
	}
	req.Array = &job.Array{Written: "%2", Params: []job.Param{{Name: "seed", Values: []string{"1", "2", "3"}}}}
	reply, err := client.Submit(context.Background(), req)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Job.Array.Size, "tasks,", reply.Job.Array.Limit, "at a time")
	// Output: 3 tasks, 2 at a time
}

// List the GPUs, and what is free on each.
func ExampleGPUs() {
	client := &api.Client{Socket: socket}
	reply, err := api.GPUs(context.Background(), client)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, g := range reply.GPUs {
		fmt.Println(g.Index, g.Name, g.State, job.FormatGPUs(g.FreeMilli))
	}
	// Output: 0 NVIDIA H100 free 1
}

// Follow changes as they happen, here until a job has ended. To get a complete picture, list the
// jobs after the first position, and then apply the events.
func ExampleEvents() {
	client := &api.Client{Socket: socket}
	for e, err := range api.Events(context.Background(), client, 0) { // -1 instead of 0 would give only new events
		if err != nil {
			fmt.Println(err)
			return
		}
		if e.Kind == job.EventGap {
			fmt.Println("list the jobs anew")
		}
		fmt.Println(e.Number, e.Sentence)
		if e.State.Terminal() {
			return
		}
	}
	// Output:
	// 1 job 7 (fold) of alice runs on GPU 0
	// 2 job 7 (fold) of alice has ended
}

// Errors have a code from a closed list, and a hint.
func ExampleError() {
	client := &api.Client{Socket: socket}
	_, err := api.Show(context.Background(), client, "4711", api.JobQuery{})
	var e *api.Error
	if errors.As(err, &e) && e.Code == api.CodeNotFound {
		fmt.Println("there is no such job")
	}
	// Output: there is no such job
}

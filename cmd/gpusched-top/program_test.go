package main

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched-top/screen"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/server"
	"github.com/gpusched/gpusched/daemon/server/servertest"
)

// A failingScheduler fails after a given number of commands.
type failingScheduler struct {
	*servertest.Backend
	after int
}

func (f failingScheduler) DoMany(ctx context.Context, who job.Actor, list []job.Command, told func([]job.Outcome) error) (int, error) {
	if f.after > 0 {
		if _, err := f.Backend.DoMany(ctx, who, list[:f.after], told); err != nil {
			return 0, err
		}
	}
	return f.after, errors.New("out of order")
}

// If the cancellation of several tasks fails midway, the message counts the tasks that were
// cancelled.
func TestCancelThatFailsMidway(t *testing.T) {
	for done, want := range []string{"3 tasks were not cancelled:", "1 of 3 tasks were cancelled:", "2 of 3 tasks were cancelled:"} {
		b := &servertest.Backend{}
		for id := job.ID(8); id < 11; id++ {
			me := job.Owner{UID: os.Getuid(), GID: os.Getgid(), User: "me"}
			b.View.Jobs = append(b.View.Jobs, job.JobView{Job: job.Job{ID: id, Owner: me, State: job.Queued}})
		}
		s := server.New(server.Options{
			Backend: func(context.Context) server.Backend { return failingScheduler{b, done} }, UserName: func(int) string { return "me" },
		})
		socket := filepath.Join(t.TempDir(), "s")
		l, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- s.Serve(ctx, l) }()
		p := &program{client: &api.Client{Socket: socket}}
		said, ok := p.cancel([]string{"8", "9", "10"}).(screen.Done)
		if !ok || said.Text != want || said.Err == nil {
			t.Errorf("after %d cancellations: %q and %v", done, said.Text, said.Err)
		}
		stop()
		<-served
	}
}

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cmd/loopback"
	"github.com/gpusched/gpusched/daemon/api"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stderr))
}

// run works until ctx is done. It returns 1 for an error and 2 for wrong usage.
func run(ctx context.Context, args []string, getenv func(string) string, talk io.Writer) int {
	flags := flag.NewFlagSet("gpusched-metrics", flag.ContinueOnError)
	flags.SetOutput(talk)
	socket := flags.String("socket", api.SocketPath, "the scheduler's socket")
	dir := flags.String("job-mapping", "", "write a file with the jobs of each GPU to gpus in this directory")
	every := flags.Duration("every", 5*time.Second, "time between two updates of these files")
	if flags.Parse(args) != nil || flags.NArg() > 0 || *every < time.Second {
		fmt.Fprintln(talk, "gpusched-metrics: wrong usage: systemd starts it by gpusched-metrics.socket or gpusched-job-mapping.service, see gpusched-metrics(1)")
		return 2
	}
	client := &api.Client{Socket: *socket}
	var err error
	if *dir != "" {
		err = keepMapping(ctx, client, *dir, *every, talk)
	} else {
		err = serveActivated(ctx, client, getenv)
	}
	if err != nil {
		fmt.Fprintln(talk, "gpusched-metrics:", err)
		return 1
	}
	return 0
}

func serveActivated(ctx context.Context, client *api.Client, getenv func(string) string) error {
	l, err := loopback.Activated(getenv)
	if errors.Is(err, loopback.ErrNotActivated) {
		return fmt.Errorf("%w: start gpusched-metrics.socket", err)
	}
	if err != nil {
		return err
	}
	return serve(ctx, l, newServer(client))
}

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	var o options
	flag.DurationVar(&o.time, "time", time.Minute, "how long to run each test")
	flag.IntVar(&o.jobs, "jobs", 2, "how many tests run at once, each in one process")
	flag.BoolVar(&o.fresh, "fresh", false, "begin with the stored inputs alone, not with what earlier runs found")
	flag.BoolVar(&o.own, "own", false, "count what is reached in this module's code alone: sooner built, several times as fast")
	flag.BoolVar(&o.json, "json", false, "print the events of go test -json")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := run(ctx, os.Stdout, o, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
	}
	if !ok || err != nil {
		stop()
		os.Exit(1)
	}
}

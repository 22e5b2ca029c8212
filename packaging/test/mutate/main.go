package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// pure are the packages that decide: what goes wrong in them, no machine shows.
var pure = []string{"daemon/job", "daemon/core", "daemon/sched", "units", "cgroup/cpuset"}

func main() {
	var o options
	var files string
	flag.DurationVar(&o.time, "time", 30*time.Minute, "no file is begun after this time; 0: all files")
	flag.Uint64Var(&o.seed, "seed", 1, "draws the order of the files")
	flag.IntVar(&o.workers, "workers", 2, "mutants that are tried at once")
	flag.StringVar(&files, "files", "", "only files of these names, separated by commas")
	flag.Parse()
	o.packages = flag.Args()
	if len(o.packages) == 0 {
		o.packages = pure
	}
	if files != "" {
		o.files = strings.Split(files, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		stop()
		os.Exit(1)
	}
}

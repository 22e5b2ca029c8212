package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/host"
	"github.com/gpusched/gpusched/daemon/journal"
	"github.com/gpusched/gpusched/daemon/sim/cli"
	"github.com/gpusched/gpusched/daemon/supervise"
)

// Set by the linker.
var (
	version = "devel"
	commit  = ""
)

// paths is where everything lies; flags change it for tests.
type paths struct {
	config, dropIns string
	state           string // the directory of the state file
	specs           string
	socket          string
	launcher, nvml  string
}

func (p paths) stateFile() string { return filepath.Join(p.state, "state.db") }

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) > 0 && args[0] == "sim" {
		return cli.Run(args[1:], os.Stdout, os.Stderr)
	}
	p := paths{config: config.MainFile, dropIns: config.DropInDir}
	flags := flag.NewFlagSet("gpuschedd", flag.ContinueOnError)
	flags.StringVar(&p.state, "state", "/var/lib/gpusched", "directory of the state file")
	flags.StringVar(&p.specs, "specs", "/run/gpusched/specs", "directory of the launchers' private instructions")
	flags.StringVar(&p.socket, "socket", "", "listen here instead of on the activated socket")
	flags.StringVar(&p.launcher, "launcher", "/usr/libexec/gpusched/gpusched-job", "the program that each unit executes")
	flags.StringVar(&p.nvml, "nvml", "/usr/libexec/gpusched/gpusched-nvml", "the program that reads the GPUs")
	showVersion := flags.Bool("version", false, "print the version and end")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "gpuschedd: takes no arguments, got %q; see --help\n", flags.Args())
		return 2
	}
	if *showVersion {
		fmt.Println("gpuschedd", version, commit)
		return 0
	}
	return serve(p)
}

// serve runs the daemon until SIGTERM or SIGINT. SIGHUP reloads.
func serve(p paths) int {
	if ram, err := host.Memory(); err == nil { // else the session says so
		boundMemory(ram)
	}
	level := new(slog.LevelVar)
	queue := logTo(os.Stderr)
	defer queue.Close()
	log := slog.New(journal.NewHandler(queue, level))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	a := assemble(p, log, level, queue)
	var err error
	if a.crashes, err = supervise.WatchCrashes(filepath.Dir(p.specs), time.Now()); err != nil {
		log.Warn("crashes of this daemon are not noted", "err", err)
	}
	if err := a.run(ctx); err != nil {
		log.Error("running", "err", err)
		return 1
	}
	return 0
}

// logTo begins the log: with fields where systemd connected us to the journal,
// else as lines of text.
func logTo(stderr *os.File) *journal.Queue {
	if journal.IsJournal(stderr, os.Getenv("JOURNAL_STREAM")) {
		return journal.NewNative(journal.Socket, stderr)
	}
	return journal.NewText(stderr)
}

func load(p paths) (config.Config, reading, error) {
	r, err := lookAtSettings(p)
	if err != nil {
		return config.Config{}, r, err
	}
	cfg, _, err := config.Load(r.files)
	return cfg, r, err
}

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cmd/progress"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/host"
	"github.com/gpusched/gpusched/daemon/journal"
	"github.com/gpusched/gpusched/daemon/sim/cli"
	"github.com/gpusched/gpusched/daemon/supervise"
	"github.com/gpusched/gpusched/units/systemd"
)

// Set by the linker.
var (
	version = "devel"
	commit  = ""
)

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) > 0 && args[0] == "sim" {
		return simulate(args[1:])
	}
	o := supervise.Options{Config: config.MainFile, DropIns: config.DropInDir, Version: version, Commit: commit}
	flags := flag.NewFlagSet("gpuschedd", flag.ContinueOnError)
	flags.StringVar(&o.State, "state", "/var/lib/gpusched", "the directory of the state file")
	o.Cache = os.Getenv("CACHE_DIRECTORY") // see CacheDirectory= in gpusched.service
	flags.StringVar(&o.Specs, "specs", "/run/gpusched/specs", "the directory of the launchers' private instructions")
	socket := flags.String("socket", "", "listen on this socket instead of the activated one")
	flags.StringVar(&o.Launcher, "launcher", "/usr/libexec/gpusched/gpusched-job", "the program that each unit executes")
	flags.StringVar(&o.NVML, "nvml", "/usr/libexec/gpusched/gpusched-nvml", "the program that reads the GPUs")
	flags.StringVar(&o.Accounts, "accounts", "/run/gpusched/accounts.sock", "the socket of gpusched-accounts, which looks up accounts of a directory")
	user := flags.Bool("user", false, "schedule only for the user who runs it; jobs are units of that user's own systemd")
	showVersion := flags.Bool("version", false, "print the version and exit")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "gpuschedd: takes no arguments, got %q (the settings are checked by 'gpusched config check'; options: --help)\n", flags.Args())
		return 2
	}
	if *showVersion {
		fmt.Println("gpuschedd", version, commit)
		return 0
	}
	if *user {
		set := map[string]bool{}
		flags.Visit(func(f *flag.Flag) { set[f.Name] = true })
		own, err := ownPaths(os.Getenv, os.Getuid())
		if err == nil {
			err = own.apply(&o, *socket, set)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "gpuschedd: %v\n", err)
			return 2
		}
	}
	go servePprof()
	return serve(o, *socket)
}

// simulate replays traces. On a terminal it shows its progress.
func simulate(args []string) int {
	line := progress.Begin(os.Stderr, os.Getenv, "gpuschedd sim: replaying")
	defer line.End()
	return cli.Run(args, line.Over(os.Stdout), line.Over(os.Stderr), func(done, of int) {
		line.Say("gpuschedd sim: %d of %d replays done", done, of)
	})
}

// serve runs the daemon until SIGTERM or SIGINT.
func serve(o supervise.Options, socket string) int {
	host.BoundMemory(os.Getenv("GOMEMLIMIT"))
	queue := logTo(os.Stderr)
	defer queue.Close()
	level := new(slog.LevelVar)
	log := slog.New(journal.NewHandler(queue, level))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	o.Environ, o.Log, o.Level = os.Environ(), log, level
	o.Journal = queue
	mode := fs.FileMode(0o666)
	if o.Own != nil {
		mode = 0o600
	}
	listeners, err := listen(socket, mode)
	if err == nil {
		err = supervise.New(o).Run(ctx, listeners...)
	}
	if err != nil {
		log.Error("the scheduler ends", "err", err)
		if os.Getenv("NOTIFY_SOCKET") != "" { // without the delay, systemd would restart the daemon after 0.1 s
			waitForStop(ctx, failedWait)
		}
		return 1
	}
	return 0
}

// failedWait is how long a daemon waits before it ends because it could not start. It therefore
// fails at most twice a second.
const failedWait = 500 * time.Millisecond

// waitForStop waits until the time limit has passed, or until a signal ends the daemon.
func waitForStop(ctx context.Context, limit time.Duration) {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	<-ctx.Done()
}

// logTo opens the log. If systemd connected stderr to the journal, log entries have fields;
// otherwise they are lines of text.
func logTo(stderr *os.File) *journal.Queue {
	if journal.IsJournal(stderr, os.Getenv("JOURNAL_STREAM")) {
		return journal.NewNative(journal.Socket, stderr)
	}
	return journal.NewText(stderr)
}

// listen returns the socket that systemd passed, or opens the socket that a flag names.
func listen(socket string, mode fs.FileMode) ([]net.Listener, error) {
	if socket == "" {
		l, err := systemd.Listeners()
		if err != nil {
			return nil, fmt.Errorf("take the activated socket: %w (start gpusched.socket, or name one with --socket)", err)
		}
		return l, nil
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", socket, err)
	}
	return []net.Listener{l}, os.Chmod(socket, mode)
}

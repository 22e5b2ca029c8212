// Command machine boots a test machine and gives a root shell in it, or runs one command.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/gpusched/gpusched/packaging/vm"
)

const usage = `usage: go run ./packaging/vm/machine [-kvm] box|emulated [-- CMD…]
  Boots a throw-away test machine; runs CMD in it as root, or a root shell; removes the machine afterwards.`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	code, err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "machine:", err)
		code = 125
	}
	os.Exit(code)
}

func run(ctx context.Context, args []string) (int, error) {
	opts := vm.Options{Log: os.Stderr}
	if len(args) > 0 && args[0] == "-kvm" {
		opts.TryKVM, args = true, args[1:]
	}
	if len(args) == 0 {
		return 2, errors.New(usage)
	}
	kind, argv := vm.Kind(args[0]), args[1:]
	if len(argv) > 0 && argv[0] == "--" {
		argv = argv[1:]
	}
	if err := vm.EnsureHostPackages(ctx, kind, os.Stderr); err != nil {
		return 0, err
	}
	began := time.Now()
	m, err := vm.Start(ctx, kind, opts)
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(os.Stderr, "machine: %s booted in %.1f s\n", kind, time.Since(began).Seconds())
	code, err := talk(ctx, m, argv)
	return code, errors.Join(err, m.Close())
}

// talk runs argv, or a shell if there is none, on our own terminal where we have one.
func talk(ctx context.Context, m *vm.Machine, argv []string) (int, error) {
	if len(argv) == 0 {
		argv = []string{"bash", "-l"}
	}
	cmd := m.Command(ctx, "", argv...)
	if term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd())) {
		cmd = m.Terminal(ctx, "", argv...)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode(), nil
	}
	return 0, err
}

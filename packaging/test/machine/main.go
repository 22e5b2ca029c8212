package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/gpusched/gpusched/cmd/progress"
	"github.com/gpusched/gpusched/gpu/fakenvml"
	"github.com/gpusched/gpusched/packaging/test/vm"
)

const (
	exitUsage       = 2
	exitNoMachine   = 125
	exitInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	code, err := run(ctx, os.Args[1:])
	interrupted := ctx.Err() != nil
	stop()
	switch {
	case interrupted:
		code = exitInterrupted
	case err != nil:
		fmt.Fprintln(os.Stderr, "machine:", err)
		code = exitNoMachine
	}
	os.Exit(code)
}

func run(ctx context.Context, args []string) (int, error) {
	req, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0, nil
	case err != nil:
		return exitUsage, nil
	}
	if err := req.checkFile(); err != nil {
		return 0, err
	}
	if err := vm.EnsureHostPackages(ctx, req.kind, os.Stderr); err != nil {
		return 0, err
	}
	line := progress.Begin(os.Stderr, os.Getenv, "machine: building the image, or waiting for somebody who does")
	defer line.End()
	req.opts.Log = line.Over(os.Stderr)
	image, err := vm.Prepare(ctx, req.kind, req.opts)
	if err != nil {
		return 0, err
	}
	if req.image {
		fmt.Fprintf(req.opts.Log, "machine: the image is ready, in %s\n", image)
		return 0, nil
	}
	return runRequest(ctx, req, line)
}

// article gives each kind of machine its English article.
var article = map[vm.Kind]string{vm.Box: "a box", vm.Emulated: "an emulated machine"}

// runRequest boots the machine, runs the request in it, and removes the machine.
func runRequest(ctx context.Context, req request, line *progress.Line) (int, error) {
	libs, err := os.MkdirTemp("", "machine-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(libs)
	parts := vm.ProvisionOptions{Deb: req.deb, Tree: req.tree, GPUs: req.gpus}
	if req.fakeGPUs {
		line.Say("machine: compiling the simulated GPUs")
		if err := req.phase("compiled the simulated GPUs", func() error { return compile(libs, &parts) }); err != nil {
			return 0, err
		}
	}
	line.Say("machine: booting")
	var m *vm.Machine
	err = req.phase("booted "+article[req.kind], func() (err error) {
		m, err = vm.Start(ctx, req.kind, req.opts)
		return err
	})
	if err != nil {
		return 0, err
	}
	code, err := serve(ctx, m, req, parts, line)
	closeErr := m.Close()
	if ctx.Err() != nil && closeErr == nil {
		fmt.Fprintln(os.Stderr, "machine: interrupted, and removed")
	}
	return code, errors.Join(err, closeErr)
}

// serve installs in the machine the parts that the request names. It then runs the request's
// command.
func serve(ctx context.Context, m *vm.Machine, req request, parts vm.ProvisionOptions, line *progress.Line) (int,
	error) {
	line.Say("machine: installing what is to run in it")
	if err := copyIn(ctx, m, req.copies); err != nil {
		return 0, err
	}
	if err := req.phase(req.installs(), func() error { return vm.Provision(ctx, m, parts) }); err != nil {
		return 0, err
	}
	line.End()
	if req.demo {
		return demo(ctx, m)
	}
	return runOnTerminal(ctx, m, req.argv)
}

// phase does one part of the work. It logs how long that part took, unless the name is empty.
func (r request) phase(name string, work func() error) error {
	began := time.Now()
	err := work()
	if err == nil && name != "" {
		fmt.Fprintf(r.opts.Log, "machine: %s in %.1f s\n", name, time.Since(began).Seconds())
	}
	return err
}

// installs returns the name of the installation phase, or "" if the request installs nothing.
func (r request) installs() string {
	var parts []string
	if r.fakeGPUs {
		parts = append(parts, "the simulated GPUs")
	}
	if path := r.deb + r.tree; path != "" {
		parts = append(parts, filepath.Base(path))
	}
	if parts == nil {
		return ""
	}
	return "installed " + strings.Join(parts, " and ")
}

// compile builds the fake NVML library and simcuda into dir.
func compile(dir string, parts *vm.ProvisionOptions) (err error) {
	if parts.FakeLib, err = fakenvml.Build(dir); err != nil {
		return err
	}
	parts.SimCUDA, err = fakenvml.BuildSimCUDA(dir)
	return err
}

// copyIn copies files into the machine. All users can execute the copies.
func copyIn(ctx context.Context, m *vm.Machine, files []string) error {
	for _, f := range files {
		host, guest, _ := strings.Cut(f, ":")
		if err := m.CopyIn(ctx, host, guest, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// runOnTerminal runs argv on our terminal, if there is one. If argv is empty, it runs a shell.
func runOnTerminal(ctx context.Context, m *vm.Machine, argv []string) (int, error) {
	if len(argv) == 0 {
		argv = []string{"bash", "-l"}
	}
	cmd, restore, err := command(ctx, m, argv)
	if err != nil {
		return 0, err
	}
	defer restore()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// command returns a command that runs argv in the machine. If we are on a terminal, the command has
// a terminal in the machine; a call of restore then resets our terminal.
func command(ctx context.Context, m *vm.Machine, argv []string) (cmd *exec.Cmd, restore func(), err error) {
	if !onTerminal() {
		return m.Command(ctx, "", argv...), func() {}, nil
	}
	in := int(os.Stdin.Fd())
	state, err := term.GetState(in)
	if err != nil {
		return nil, nil, fmt.Errorf("terminal: %w", err)
	}
	return m.Terminal(ctx, "", argv...), func() { term.Restore(in, state) }, nil
}

// onTerminal reports whether stdin and stdout are a terminal.
func onTerminal() bool {
	return term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
}

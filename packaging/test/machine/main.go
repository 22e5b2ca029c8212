package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
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

const usage = `usage: go run ./packaging/test/machine [switches] box|emulated|demo [-- CMD…]
Boots a throw-away Debian machine, runs CMD in it as root (or a root shell), and removes the machine.
  box       systemd in a container: boots in under a second, native speed
  demo      an emulated machine with simulated GPUs and the package -deb, in which two accounts use gpusched;
            with KEEP=1 in the environment it stays up afterwards
  emulated  a whole machine in QEMU: boots in about 15 seconds; memory limits, reboots and udev are real
switches:
`

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

// A request is what the command line asks for.
type request struct {
	kind     vm.Kind
	opts     vm.Options
	deb      string
	fakeGPUs bool
	gpus     []string // nil: the fake library's default ones
	copies   []string // HOST:GUEST
	fetches  []string // GUEST:HOST
	argv     []string // nil: a shell
	demo     bool     // play the demo instead
}

// parse reads the command line. When it returns an error, stderr has heard what is wrong.
func parse(args []string) (request, error) {
	r := request{opts: vm.Options{Log: os.Stderr}}
	flags := flag.NewFlagSet("machine", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(os.Stderr, usage)
		flags.PrintDefaults()
	}
	flags.BoolVar(&r.opts.TryKVM, "kvm", false, "let the emulated machine use hardware virtualisation if that works here")
	flags.Func("suite", fmt.Sprintf("the `SUITE` of Debian, of %q (default %s)", vm.Suites(), vm.Bookworm),
		func(s string) error {
			r.opts.Suite = vm.Suite(s)
			if !slices.Contains(vm.Suites(), r.opts.Suite) {
				return fmt.Errorf("there are %q", vm.Suites())
			}
			return nil
		})
	flags.Func("include", "a Debian `PACKAGE` that the machine's image has besides; may be repeated", func(s string) error {
		r.opts.Packages = append(r.opts.Packages, s)
		return nil
	})
	flags.IntVar(&r.opts.MemMiB, "mem", 4096, "`MiB` of memory of the emulated machine")
	flags.IntVar(&r.opts.CPUs, "cpus", 2, "processors of the emulated machine")
	flags.StringVar(&r.deb, "deb", "", "install this package `FILE` first")
	flags.BoolFunc("fake-gpus",
		"install the fake NVML library, with four GPUs, and simcuda first; =islands: with eight GPUs in two islands of NVLinks", func(s string) error {
			switch s {
			case "islands":
				r.gpus = fakenvml.Islands()
			case "true", "false":
			default:
				return errors.New("neither left out nor islands")
			}
			r.fakeGPUs = s != "false"
			return nil
		})
	flags.BoolVar(&r.opts.HostGPUs, "host-gpus", false, "give the box the host's own GPUs and driver")
	flags.Func("copy", "copy a `HOST:GUEST` file in first, executable by all; may be repeated", pairs(&r.copies))
	flags.Func("fetch", "copy a `GUEST:HOST` file out when CMD has succeeded; may be repeated", pairs(&r.fetches))
	if err := flags.Parse(args); err != nil {
		return r, err
	}
	rest := flags.Args()
	if len(rest) == 1 && rest[0] == "demo" {
		r.kind, r.demo, r.fakeGPUs = vm.Emulated, true, true
		return r, nil
	}
	if len(rest) == 0 || (rest[0] != string(vm.Box) && rest[0] != string(vm.Emulated)) {
		err := fmt.Errorf("machine: which kind: %q is neither box nor emulated", strings.Join(rest, " "))
		fmt.Fprintln(os.Stderr, err)
		flags.Usage()
		return r, err
	}
	r.kind, r.argv = vm.Kind(rest[0]), rest[1:]
	if r.fakeGPUs && r.opts.HostGPUs {
		err := errors.New("machine: -fake-gpus and -host-gpus: the fake library would take the place of the driver's; choose one")
		fmt.Fprintln(os.Stderr, err)
		return r, err
	}
	if len(r.argv) > 0 && r.argv[0] == "--" {
		r.argv = r.argv[1:]
	}
	return r, nil
}

// pairs takes two paths with a colon between them.
func pairs(to *[]string) func(string) error {
	return func(s string) error {
		if from, into, ok := strings.Cut(s, ":"); !ok || from == "" || into == "" {
			return errors.New("not two paths with a colon between them")
		}
		*to = append(*to, s)
		return nil
	}
}

func run(ctx context.Context, args []string) (int, error) {
	req, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0, nil
	case err != nil:
		return exitUsage, nil
	}
	if err := vm.EnsureHostPackages(ctx, req.kind, os.Stderr); err != nil {
		return 0, err
	}
	line := progress.Begin(os.Stderr, os.Getenv, "machine: booting")
	defer line.End()
	req.opts.Log = line.Over(os.Stderr)
	began := time.Now()
	m, err := vm.Start(ctx, req.kind, req.opts)
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(req.opts.Log, "machine: %s booted in %.1f s\n", req.kind, time.Since(began).Seconds())
	line.Say("machine: installing what is to run in it")
	err = provision(ctx, m, req)
	line.End()
	code := 0
	if err == nil {
		if req.demo {
			code, err = demo(ctx, m)
		} else {
			code, err = talk(ctx, m, req.argv)
		}
	}
	if err == nil && code == 0 {
		err = fetch(ctx, m, req.fetches)
	}
	return code, errors.Join(err, m.Close())
}

// provision builds and installs what the command line asked for.
func provision(ctx context.Context, m *vm.Machine, req request) error {
	parts := vm.ProvisionOptions{Deb: req.deb, GPUs: req.gpus}
	if req.fakeGPUs {
		dir, err := os.MkdirTemp("", "machine-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		if parts.FakeLib, err = fakenvml.Build(dir); err != nil {
			return err
		}
		if parts.SimCUDA, err = fakenvml.BuildSimCUDA(dir); err != nil {
			return err
		}
	}
	for _, c := range req.copies {
		host, guest, _ := strings.Cut(c, ":")
		if err := m.CopyIn(ctx, host, guest, 0o755); err != nil {
			return err
		}
	}
	return vm.Provision(ctx, m, parts)
}

// fetch copies files out.
func fetch(ctx context.Context, m *vm.Machine, files []string) error {
	for _, f := range files {
		guest, host, _ := strings.Cut(f, ":")
		if err := m.CopyOut(ctx, guest, host); err != nil {
			return err
		}
	}
	return nil
}

// talk runs argv, or a shell if there is none, on our own terminal where we have one.
func talk(ctx context.Context, m *vm.Machine, argv []string) (int, error) {
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

// command is argv in the machine, on a terminal of its own if we are on one; restore puts our terminal back as it was.
func command(ctx context.Context, m *vm.Machine, argv []string) (cmd *exec.Cmd, restore func(), err error) {
	in := int(os.Stdin.Fd())
	if !term.IsTerminal(in) || !term.IsTerminal(int(os.Stdout.Fd())) {
		return m.Command(ctx, "", argv...), func() {}, nil
	}
	state, err := term.GetState(in)
	if err != nil {
		return nil, nil, fmt.Errorf("terminal: %w", err)
	}
	return m.Terminal(ctx, "", argv...), func() { term.Restore(in, state) }, nil
}

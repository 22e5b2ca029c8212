package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/gpu/fakenvml"
	"github.com/gpusched/gpusched/packaging/test/vm"
)

const usage = `usage: go run ./packaging/test/machine [switches] box|emulated [-- CMD…]
       go run ./packaging/test/machine [switches] -deb FILE demo [box|emulated]
       go run ./packaging/test/machine [switches] image [box|emulated]
The first boots a throw-away Debian machine, runs CMD in it as root (or a root shell), and removes the machine.
  box       systemd in a container: boots in under a second, native speed
  emulated  a whole machine in QEMU: boots in about 15 seconds; memory limits, reboots and udev are real
  demo      two accounts use the package FILE and four simulated GPUs in a machine (default: a box); with KEEP=1 in the
            environment a root shell follows, or without a terminal the machine stays up until Ctrl-C
  image     builds the machine's image (default: a box's), unless it is there, and nothing else
switches:
`

// A request is the parsed command line.
type request struct {
	kind     vm.Kind
	opts     vm.Options
	deb      string
	tree     string
	fakeGPUs bool
	gpus     []string // one line for each GPU; nil means the fake library's defaults
	copies   []string // each HOST:GUEST
	argv     []string // command to run; nil means a shell
	demo     bool     // plays the demo instead of argv
	image    bool     // only builds the image
}

// parse parses the command line. Before it returns an error, it prints to stderr what is wrong.
func parse(args []string) (request, error) {
	r := request{opts: vm.Options{Log: os.Stderr}}
	flags := flag.NewFlagSet("machine", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(os.Stderr, usage)
		flags.PrintDefaults()
	}
	flags.Func("suite", fmt.Sprintf("the `SUITE` of Debian, of %q (default %s)", vm.Suites(), vm.Bookworm),
		func(s string) error {
			r.opts.Suite = vm.Suite(s)
			if !slices.Contains(vm.Suites(), r.opts.Suite) {
				return fmt.Errorf("there are %q", vm.Suites())
			}
			return nil
		})
	flags.BoolFunc("slurm", "the machine's image has the packages of the suite's box with Slurm besides", func(string) error {
		r.opts.Packages = vm.SlurmPackages()
		return nil
	})
	containers := flags.Bool("containers", false, "the machine's image has the container engines Podman and Docker besides")
	flags.StringVar(&r.deb, "deb", "", "install this package `FILE` first")
	flags.StringVar(&r.tree, "tree", "", "unpack this tar `FILE` of what 'make install' installs first, and start the scheduler")
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
	flags.Func("copy", "copy a `HOST:GUEST` file in first, executable by all; may be repeated", func(s string) error {
		if from, into, _ := strings.Cut(s, ":"); from == "" || into == "" {
			return errors.New("not two paths with a colon between them")
		}
		r.copies = append(r.copies, s)
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return r, err
	}
	if *containers {
		r.opts.Packages = append(r.opts.Packages, vm.ContainerPackages(r.opts.Suite)...)
	}
	if err := r.takeWords(flags.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "machine:", err)
		fmt.Fprintln(os.Stderr, "machine: -help lists what there is")
		return r, err
	}
	return r, nil
}

// takeWords parses the arguments after the options.
func (r *request) takeWords(words []string) error {
	if len(words) > 0 {
		r.demo, r.image = words[0] == "demo", words[0] == "image"
	}
	if r.demo || r.image {
		if words = words[1:]; len(words) == 0 {
			words = []string{string(vm.Box)}
		}
		if len(words) > 1 {
			return fmt.Errorf("%q: after demo and image comes one word at most, box or emulated", words)
		}
	}
	if len(words) == 0 || (words[0] != string(vm.Box) && words[0] != string(vm.Emulated)) {
		return fmt.Errorf("which kind of machine: %q is neither box nor emulated", strings.Join(words, " "))
	}
	r.kind, r.argv = vm.Kind(words[0]), words[1:]
	if len(r.argv) > 0 && r.argv[0] == "--" {
		r.argv = r.argv[1:]
	}
	r.fakeGPUs = r.fakeGPUs || r.demo
	switch {
	case r.fakeGPUs && r.opts.HostGPUs:
		return errors.New("simulated GPUs and -host-gpus: the fake library would take the place of the driver's; choose one")
	case r.deb != "" && r.tree != "":
		return errors.New("-deb and -tree: choose one")
	case r.demo && r.deb+r.tree == "":
		return errors.New("the demo needs the scheduler: -deb FILE ('make package' builds it) or -tree FILE ('make demo-tree')")
	}
	return nil
}

// checkFile returns an error if the file to install is not a regular file. It is called before the
// slow steps.
func (r request) checkFile() error {
	path := r.deb + r.tree
	if path == "" {
		return nil
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	if err != nil {
		return fmt.Errorf("what is to be installed ('make package' or 'make demo-tree' builds it): %w", err)
	}
	return nil
}

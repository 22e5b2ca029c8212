package vm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
)

// Kind is the kind of a machine: Box or Emulated.
type Kind string

const (
	// Box is a systemd in a container on the host's kernel. It is fast. Limits work only if the
	// host has the controllers.
	Box Kind = "box"
	// Emulated is a whole machine in QEMU. It is slow; everything is real.
	Emulated Kind = "emulated"
)

// Options are the options of Start. The zero value is valid.
type Options struct {
	Suite    Suite     // Debian release; "" is Bookworm
	Packages []string  // further Debian packages in the image; each list of packages needs a separate image
	CacheDir string    // directory of the images; "" is DefaultCacheDir
	HostGPUs bool      // a box gets the host's NVIDIA GPUs and driver, and no fake nodes
	Log      io.Writer // log of image builds; nil is none
}

func (o Options) log() io.Writer {
	if o.Log == nil {
		return io.Discard
	}
	return o.Log
}

func (o Options) suite() Suite { return cmp.Or(o.Suite, Bookworm) }

// A guest is either a *box or an *emulated.
type guest interface {
	// boot boots the guest from its disk. It returns when the guest has finished booting.
	boot(ctx context.Context) error
	// reboot shuts the guest down in the ordinary way and boots it again.
	reboot(ctx context.Context, by []string) error
	// halt ends the guest at once. It may be called on a guest that never booted.
	halt() error
	run(ctx context.Context, argv []string, stdin io.Reader, stdout io.Writer) (Result, error)
	command(ctx context.Context, argv []string, tty bool) *exec.Cmd
}

// A Machine is a running machine. Its methods may be called
// concurrently, but not during Reboot, PowerCut and Close.
type Machine struct {
	kind           Kind
	dir            *runDir
	guest          guest // nil if Start could not create the guest
	hasControllers bool
	hostGPUs       bool

	close    sync.Once
	closeErr error
}

// Start boots a machine of a kind from its image. If the cache lacks the image, Start builds the
// image first. It returns when the machine has finished booting. ctx limits only the start. Close
// ends the machine.
func Start(ctx context.Context, kind Kind, opts Options) (*Machine, error) {
	if opts.HostGPUs && kind != Box {
		return nil, fmt.Errorf("start a %s machine: only a box can have the host's GPUs", kind)
	}
	if err := needRoot("start a test machine"); err != nil {
		return nil, err
	}
	if err := missingTools(kind, runPrograms); err != nil {
		return nil, err
	}
	img, err := ensureImage(ctx, kind, opts)
	if err != nil {
		return nil, err
	}
	if err := removeStale(); err != nil {
		fmt.Fprintf(opts.log(), "machine: what a killed test left behind stays for now: %v\n", err)
	}
	dir, err := newRunDir()
	if err != nil {
		return nil, err
	}
	m := &Machine{kind: kind, dir: dir, hostGPUs: opts.HostGPUs}
	if err := m.start(ctx, img, opts); err != nil {
		return nil, errors.Join(fmt.Errorf("start a %s machine: %w", kind, err), m.Close())
	}
	return m, nil
}

func (m *Machine) start(ctx context.Context, img image, opts Options) error {
	group, err := scopeNamed(m.dir.id)
	if err != nil {
		return err
	}
	newGuest := newBox
	if m.kind == Emulated {
		newGuest = newEmulated
	}
	if m.guest, err = newGuest(ctx, img, m.dir, group, opts); err != nil {
		return err
	}
	if err := m.guest.boot(ctx); err != nil {
		return err
	}
	r, err := m.Run(ctx, "", nil, "cat", "/sys/fs/cgroup/cgroup.controllers")
	controllers := strings.Fields(r.Stdout)
	m.hasControllers = slices.Contains(controllers, "memory") && slices.Contains(controllers, "pids")
	return err
}

// emulated returns the guest of an emulated machine, and nil for a box.
func (m *Machine) emulated() *emulated {
	e, _ := m.guest.(*emulated)
	return e
}

// Kind returns the machine's kind.
func (m *Machine) Kind() Kind { return m.kind }

// HasControllers reports whether the memory and task limits of units work in this machine.
func (m *Machine) HasControllers() bool { return m.hasControllers }

// Close ends the machine and removes everything that the machine had on the host. Later calls
// return the result of the first call.
func (m *Machine) Close() error {
	m.close.Do(func() {
		var halted error
		if m.guest != nil {
			halted = m.guest.halt()
		}
		if e := m.emulated(); e != nil {
			e.listen.Close()
			e.disk.Close()
		}
		m.closeErr = errors.Join(halted, m.dir.remove())
	})
	return m.closeErr
}

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

// A Kind of machine: Box or Emulated.
type Kind string

const (
	// Box is a systemd in a container on the host's kernel: fast, limits only where the host has the controllers.
	Box Kind = "box"
	// Emulated is a whole machine in QEMU: slow, everything real.
	Emulated Kind = "emulated"
)

// Options of a start. The zero value is good.
type Options struct {
	Suite    Suite     // of Debian; "" is Bookworm
	Packages []string  // of the suite's that the image has besides; each list has an image of its own
	CacheDir string    // where images are kept; "" is DefaultCacheDir
	HostGPUs bool      // a box has the host's NVIDIA GPUs and driver, and no fake nodes
	Log      io.Writer // hears of image builds; nil is nobody
}

func (o Options) log() io.Writer {
	if o.Log == nil {
		return io.Discard
	}
	return o.Log
}

func (o Options) suite() Suite { return cmp.Or(o.Suite, Bookworm) }

// A guest is what runs, a *box or an *emulated.
type guest interface {
	// boot boots it from its disk and returns when it has finished booting.
	boot(ctx context.Context) error
	// reboot shuts it down in the ordinary way and boots it again.
	reboot(ctx context.Context) error
	// halt ends it at once. Safe on one that never booted.
	halt() error
	run(ctx context.Context, argv []string, stdin io.Reader, stdout io.Writer) (Result, error)
	command(ctx context.Context, argv []string, tty bool) *exec.Cmd
}

// A Machine that runs. Its methods may be called from several goroutines, but not during Reboot, PowerCut and Close.
type Machine struct {
	kind           Kind
	dir            *runDir
	guest          guest // nil: it could not be made
	hasControllers bool
	hostGPUs       bool

	close    sync.Once
	closeErr error
}

// Start boots a machine of a kind from the image in the cache, which it builds first if it is missing. The machine has
// finished booting when Start returns. ctx bounds the start only; end the machine with Close.
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

// emulated is the guest of an emulated machine; nil for a box.
func (m *Machine) emulated() *emulated {
	e, _ := m.guest.(*emulated)
	return e
}

// Kind of this machine.
func (m *Machine) Kind() Kind { return m.kind }

// HasControllers reports whether memory and task limits of units work in this machine.
func (m *Machine) HasControllers() bool { return m.hasControllers }

// Close ends the machine and removes everything it had on the host. Later calls return what the first one did.
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

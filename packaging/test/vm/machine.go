package vm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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
	CacheDir string    // where images are kept; "" is DefaultCacheDir
	MemMiB   int       // memory of an emulated machine in MiB; 0 is 4096
	CPUs     int       // processors of an emulated machine; 0 is 2
	TryKVM   bool      // let an emulated machine boot with hardware virtualisation if that works within seconds
	Log      io.Writer // hears of image builds and of hardware virtualisation given up; nil is nobody
}

func (o Options) log() io.Writer {
	if o.Log == nil {
		return io.Discard
	}
	return o.Log
}

func (o Options) suite() Suite { return cmp.Or(o.Suite, Bookworm) }

// A Machine that runs. Its methods may be called from several goroutines, but not during Reboot, PowerCut and Close.
type Machine struct {
	kind           Kind
	dir            *runDir
	box            *box      // one of these two is set, by kind
	emu            *emulated //
	hasControllers bool

	close    sync.Once
	closeErr error
}

// Start boots a machine of a kind from the image in the cache, which it builds first if it is missing. The machine has
// finished booting when Start returns. ctx bounds the start only; end the machine with Close.
func Start(ctx context.Context, kind Kind, opts Options) (*Machine, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("start a test machine: it needs root (containers, mounts and an image's owners): run it as root")
	}
	if err := missingTools(kind); err != nil {
		return nil, err
	}
	img, err := ensureImage(ctx, kind, opts)
	if err != nil {
		return nil, err
	}
	if err := removeStale(); err != nil {
		fmt.Fprintf(opts.log(), "vm: what a killed test left behind stays for now: %v\n", err)
	}
	dir, err := newRunDir()
	if err != nil {
		return nil, err
	}
	m := &Machine{kind: kind, dir: dir}
	if err := m.start(ctx, img, opts); err != nil {
		return nil, errors.Join(fmt.Errorf("start a %s machine: %w", kind, err), m.Close())
	}
	return m, nil
}

// StartBox is Start of a Box.
func StartBox(ctx context.Context, opts Options) (*Machine, error) { return Start(ctx, Box, opts) }

// StartEmulated is Start of an Emulated machine.
func StartEmulated(ctx context.Context, opts Options) (*Machine, error) {
	return Start(ctx, Emulated, opts)
}

func (m *Machine) start(ctx context.Context, img image, opts Options) error {
	group, err := scopeNamed(m.dir.id)
	if err != nil {
		return err
	}
	if m.kind == Emulated {
		m.emu, err = newEmulated(ctx, img, m.dir, group, opts)
	} else {
		m.box, err = newBox(ctx, img, m.dir, group)
	}
	if err != nil {
		return err
	}
	if err := m.boot(ctx); err != nil {
		return err
	}
	r, err := m.Run(ctx, "", nil, "cat", "/sys/fs/cgroup/cgroup.controllers")
	m.hasControllers = hasWord(r.Stdout, "memory") && hasWord(r.Stdout, "pids")
	return err
}

// Kind of this machine.
func (m *Machine) Kind() Kind { return m.kind }

// HasControllers reports whether memory and task limits of units work in this machine.
func (m *Machine) HasControllers() bool { return m.hasControllers }

// Close ends the machine and removes everything it had on the host. Later calls return what the first one did.
func (m *Machine) Close() error {
	m.close.Do(func() {
		m.closeErr = m.halt()
		if m.emu != nil {
			m.emu.listen.Close()
			m.emu.disk.Close()
		}
		m.closeErr = errors.Join(m.closeErr, m.dir.remove())
	})
	return m.closeErr
}

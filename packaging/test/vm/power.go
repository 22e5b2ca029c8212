package vm

import (
	"context"
	"fmt"
)

// boot boots the machine from its disk and returns when it has finished booting.
func (m *Machine) boot(ctx context.Context) error {
	if m.emu != nil {
		return m.emu.boot(ctx)
	}
	return m.box.boot(ctx)
}

// halt ends the machine at once. Safe on one that never booted.
func (m *Machine) halt() error {
	if m.box != nil {
		return m.box.halt()
	}
	if m.emu != nil {
		return m.emu.halt()
	}
	return nil
}

// Reboot shuts the machine down in the ordinary way and boots it again from the same disk. In a box that is a restart of
// the container: /run, /tmp, /dev and the boot id are new, the kernel is the same. Commands that still run are lost.
func (m *Machine) Reboot(ctx context.Context) error {
	var err error
	if m.emu != nil {
		err = m.emu.reboot(ctx)
	} else {
		err = m.box.reboot(ctx)
	}
	if err != nil {
		return fmt.Errorf("reboot: %w", err)
	}
	return nil
}

// PowerCut ends the machine at once, without a word to it, and boots it again from the same disk. An emulated machine
// loses what it had not yet written to its disk and, by chance, what it had written and not flushed, as on a real power
// cut; a box loses its processes and memory only.
func (m *Machine) PowerCut(ctx context.Context) error {
	err := m.halt()
	if err == nil {
		err = m.boot(ctx)
	}
	if err != nil {
		return fmt.Errorf("power cut: %w", err)
	}
	return nil
}

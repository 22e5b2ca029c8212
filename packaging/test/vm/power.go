package vm

import (
	"context"
	"fmt"
)

// Reboot shuts the machine down in the ordinary way and boots it again from the same disk. Reboot
// of a box restarts the container: /run, /tmp, /dev and the boot id are new, but the kernel is the
// same. Running commands are lost.
func (m *Machine) Reboot(ctx context.Context) error {
	return m.RebootBy(ctx, "systemctl", "--no-block", "reboot")
}

// RebootBy runs a command as root, and waits until the machine has rebooted. If something else
// makes the machine reboot, the command may be "true".
func (m *Machine) RebootBy(ctx context.Context, command ...string) error {
	if err := m.guest.reboot(ctx, command); err != nil {
		return fmt.Errorf("reboot: %w", err)
	}
	return nil
}

// PowerCut ends the machine at once, without a shutdown, and boots it again from the same disk. As
// in a real power cut, an emulated machine loses the data that it had not yet written to its disk.
// It also loses a random part of the data that it had written but not flushed. A box loses only its
// processes and memory.
func (m *Machine) PowerCut(ctx context.Context) error {
	err := m.guest.halt()
	if err == nil {
		err = m.guest.boot(ctx)
	}
	if err != nil {
		return fmt.Errorf("power cut: %w", err)
	}
	return nil
}

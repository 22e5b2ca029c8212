package vm

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// CopyIn copies a file of the host into the machine, owned by root, with the given permissions; missing directories are
// made. The file appears whole or not at all, also over a program that runs.
func (m *Machine) CopyIn(ctx context.Context, hostPath, guestPath string, mode fs.FileMode) error {
	f, err := os.Open(hostPath)
	if err != nil {
		return fmt.Errorf("copy in: %w", err)
	}
	defer f.Close()
	script := `set -e; umask 077; mkdir -p -m 755 "${1%/*}"; cat >"$1.vm-new"; chmod "$2" "$1.vm-new"; mv -fT "$1.vm-new" "$1"`
	if !filepath.IsAbs(guestPath) {
		return fmt.Errorf("copy in to %q: it must be an absolute path", guestPath)
	}
	r, err := m.Run(ctx, "", f, "sh", "-c", script, "sh", guestPath, fmt.Sprintf("%o", mode.Perm()))
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		return fmt.Errorf("copy in to %s: %w", guestPath, err)
	}
	return nil
}

// CopyOut copies a file out of the machine to the host, with permissions 0644.
func (m *Machine) CopyOut(ctx context.Context, guestPath, hostPath string) error {
	r, err := m.Run(ctx, "", nil, "cat", guestPath)
	if err == nil {
		err = r.Err()
	}
	if err == nil {
		err = os.WriteFile(hostPath, []byte(r.Stdout), 0o644)
	}
	if err != nil {
		return fmt.Errorf("copy %s out: %w", guestPath, err)
	}
	return nil
}

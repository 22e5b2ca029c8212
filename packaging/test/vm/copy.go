package vm

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// CopyIn copies a file of the host into the machine, owned by root, with the given mode. It creates
// missing directories. It replaces the file atomically, even a program that is running.
func (m *Machine) CopyIn(ctx context.Context, hostPath, guestPath string, mode fs.FileMode) error {
	f, err := os.Open(hostPath)
	if err != nil {
		return fmt.Errorf("copy in: %w", err)
	}
	defer f.Close()
	return m.writeFile(ctx, f, guestPath, mode)
}

// WriteFile writes a file in the machine, atomically as CopyIn does.
func (m *Machine) WriteFile(ctx context.Context, guestPath, content string, mode fs.FileMode) error {
	return m.writeFile(ctx, strings.NewReader(content), guestPath, mode)
}

// writeScript writes its input to $1 with mode $2, through a new file beside it.
const writeScript = `set -e
umask 022
mkdir -p "${1%/*}/"
umask 077
cat >"$1.vm-new"
chmod "$2" "$1.vm-new"
mv -fT "$1.vm-new" "$1"`

func (m *Machine) writeFile(ctx context.Context, content io.Reader, guestPath string, mode fs.FileMode) error {
	if !filepath.IsAbs(guestPath) {
		return fmt.Errorf("copy in to %q: name an absolute path of the machine", guestPath)
	}
	r, err := m.Run(ctx, "", content, "sh", "-c", writeScript, "sh", guestPath, fmt.Sprintf("%o", mode.Perm()))
	if err = cmp.Or(err, r.Err()); err != nil {
		return fmt.Errorf("copy in to %s: %w", guestPath, err)
	}
	return nil
}

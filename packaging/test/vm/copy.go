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

// CopyIn copies a file of the host into the machine. The copy belongs
// to root and has the given mode. CopyIn creates missing directories,
// and replaces the file atomically, even if it is a running program.
func (m *Machine) CopyIn(ctx context.Context, hostPath, guestPath string, mode fs.FileMode) error {
	f, err := os.Open(hostPath)
	if err != nil {
		return fmt.Errorf("copy in: %w", err)
	}
	defer f.Close()
	return m.writeFile(ctx, f, guestPath, mode)
}

// WriteFile writes a file in the machine atomically, like CopyIn.
func (m *Machine) WriteFile(ctx context.Context, guestPath, content string, mode fs.FileMode) error {
	return m.writeFile(ctx, strings.NewReader(content), guestPath, mode)
}

// writeScript writes its input to the file $1 with mode
// $2. It writes a new file in the same directory first.
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

package launch

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// MessageSuffix ends the name of a file with input for gpusched-notify.
const MessageSuffix = ".message"

// WriteMessage writes the input of gpusched-notify into dir, readable only by root: systemd opens
// it as the standard input of the unit.
func WriteMessage(dir, name string, data []byte) error {
	d, err := openDir(dir)
	if err != nil {
		return fmt.Errorf("write %q: %w", name, err)
	}
	defer unix.Close(d)
	if err := writeAt(d, name, os.Geteuid(), data); err != nil {
		return fmt.Errorf("write %q in %q: %w", name, dir, err)
	}
	return nil
}

// RemoveMessage removes a file that WriteMessage wrote. A missing file is not an error.
func RemoveMessage(dir, name string) error {
	if err := discard(filepath.Join(dir, name)); err != nil {
		return fmt.Errorf("remove %q: %w", name, err)
	}
	return nil
}

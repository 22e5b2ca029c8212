package launch

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// MessageSuffix ends the name of a file that gpusched-notify is given.
const MessageSuffix = ".message"

// WriteMessage puts what gpusched-notify is to send into dir, for nobody but root:
// systemd opens it as the standard input of the unit.
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

// RemoveMessage takes it away. One that is not there is not an error.
func RemoveMessage(dir, name string) error {
	if err := discard(filepath.Join(dir, name)); err != nil {
		return fmt.Errorf("remove %q: %w", name, err)
	}
	return nil
}

package vm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// diskSize is the size of the disk of an emulated machine. The file is sparse.
const diskSize = "6G"

func (i image) disk() string { return i.file("disk") }

// fillEmulated converts the tree to the files from which an emulated machine boots: kernel, initrd,
// keys and disk. It then removes the tree.
func (i image) fillEmulated(ctx context.Context) error {
	for pattern, name := range map[string]string{"vmlinuz-*": "vmlinuz", "initrd.img-*": "initrd.img"} {
		if err := i.takeOut(pattern, name); err != nil {
			return err
		}
	}
	if err := i.makeKeys(ctx); err != nil {
		return err
	}
	if _, err := await.Output(ctx, buildLimit, []string{"mke2fs", "-q", "-t", "ext4", "-d", i.root(), i.disk(),
		diskSize}); err != nil {
		return fmt.Errorf("disk: %w", err)
	}
	return os.RemoveAll(i.root())
}

// takeOut finds the only file in /boot that matches the pattern, and moves it out of the tree.
func (i image) takeOut(pattern, name string) error {
	found, err := filepath.Glob(filepath.Join(i.root(), "boot", pattern))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("kernel: /boot of the image has %d files %s, not one", len(found), pattern)
	}
	return os.Rename(found[0], i.file(name))
}

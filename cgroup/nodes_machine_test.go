//go:build machine

package cgroup

import (
	"errors"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/units/contract"
)

// A GPU's own node and the probe are ignored as extra nodes. Creating such nodes needs root.
func TestMachineStatNodesReserved(t *testing.T) {
	dir := t.TempDir()
	for minor, want := range map[uint32]error{0: errReserved, contract.ProbeMinor: errReserved, contract.CtlMinor: nil, contract.ModesetMinor: nil} {
		path := filepath.Join(dir, "node")
		if err := unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(contract.NvidiaMajor, minor))); err != nil {
			t.Fatal(err)
		}
		if _, err := statNode(path); !errors.Is(err, want) {
			t.Errorf("minor %d: left out %v", minor, err)
		}
		if err := unix.Unlink(path); err != nil {
			t.Fatal(err)
		}
	}
}

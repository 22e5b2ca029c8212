package cgroup

import (
	"fmt"

	"github.com/gpusched/gpusched/units/contract"
)

// A Device is a character device, identified by its numbers.
type Device struct {
	Major, Minor uint32
}

// GPU returns the device of the GPU with this minor number.
func GPU(minor uint32) Device { return Device{Major: contract.NvidiaMajor, Minor: minor} }

// Path returns the device's name in a unit's device entry.
func (d Device) Path() string { return fmt.Sprintf("/dev/char/%d:%d", d.Major, d.Minor) }

// Reserved reports whether d is a GPU's own node or the probe. The list of extra devices must not
// open these (invariant 2).
func (d Device) Reserved() bool {
	return d.Major == contract.NvidiaMajor && d.Minor != contract.CtlMinor && d.Minor != contract.ModesetMinor
}

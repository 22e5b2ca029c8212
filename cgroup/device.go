package cgroup

import (
	"fmt"

	"github.com/gpusched/gpusched/units/contract"
)

// Device is a character device by its numbers.
type Device struct {
	Major, Minor uint32
}

// GPU returns the device of the GPU with this minor number.
func GPU(minor uint32) Device { return Device{Major: contract.NvidiaMajor, Minor: minor} }

// Path returns the name that a device entry of a unit carries.
func (d Device) Path() string { return fmt.Sprintf("/dev/char/%d:%d", d.Major, d.Minor) }

// Reserved reports whether d is a GPU's own node or the probe, which a list of
// extra devices must not open (invariant 2).
func (d Device) Reserved() bool {
	return d.Major == contract.NvidiaMajor && d.Minor != contract.CtlMinor && d.Minor != contract.ModesetMinor
}

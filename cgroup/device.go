package cgroup

import "fmt"

// The numbers of NVIDIA's nodes. Only this major number is fixed; those of
// nvidia-uvm and nvidia-caps are given out by the kernel and taken from stat.
const (
	NvidiaMajor  = 195
	CtlMinor     = 255 // /dev/nvidiactl
	ModesetMinor = 254 // /dev/nvidia-modeset
	ProbeMinor   = 250 // /dev/gpusched-probe, which no job may ever open
)

// Device is a character device by its numbers.
type Device struct {
	Major, Minor uint32
}

// GPU returns the device of the GPU with this minor number.
func GPU(minor uint32) Device { return Device{Major: NvidiaMajor, Minor: minor} }

// Path returns the name that a device entry of a unit carries.
func (d Device) Path() string { return fmt.Sprintf("/dev/char/%d:%d", d.Major, d.Minor) }

// Reserved tells whether d is a GPU's own node or the probe, which a list of
// extra devices must not open (invariant 2).
func (d Device) Reserved() bool {
	return d.Major == NvidiaMajor && d.Minor != CtlMinor && d.Minor != ModesetMinor
}

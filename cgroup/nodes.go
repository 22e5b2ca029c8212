package cgroup

import (
	"errors"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// Reasons why StatNodes ignores a path.
var (
	errNotDevice = errors.New("not a character device")
	errReserved  = errors.New("a job's own GPUs are opened to it only by its placement")
)

// StatNodes returns the devices of the nodes at paths, without duplicates. It ignores a path that
// is missing (nvidia-uvm is created on first use), is not a character device, or is reserved
// (invariant 2). The paths come from root's configuration, so links are followed.
func StatNodes(paths []string) []Device {
	var found []Device
	for _, path := range paths {
		if d, err := statNode(path); err == nil && !slices.Contains(found, d) {
			found = append(found, d)
		}
	}
	return found
}

func statNode(path string) (Device, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Device{}, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || info.Mode()&os.ModeCharDevice == 0 {
		return Device{}, errNotDevice
	}
	d := Device{Major: unix.Major(st.Rdev), Minor: unix.Minor(st.Rdev)}
	if d.Reserved() {
		return Device{}, errReserved
	}
	return d, nil
}

package cgroup

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// errors of a node, for people.
var (
	errNotDevice = errors.New("not a character device")
	errReserved  = errors.New("a GPU of its own is opened to a job by placement only")
)

// NodeError says why a node was left out.
type NodeError struct {
	Path string
	Err  error
}

// Error names the node and the reason.
func (e *NodeError) Error() string { return fmt.Sprintf("device node %q: %v", e.Path, e.Err) }

// Unwrap returns the reason.
func (e *NodeError) Unwrap() error { return e.Err }

// StatNodes returns the devices of the nodes at paths, without duplicates, and
// a NodeError for each path that is left out: absent (nvidia-uvm is made when it
// is first needed), no character device, or reserved (invariant 2). The paths
// come from root's own configuration; links are followed.
func StatNodes(paths []string) ([]Device, []*NodeError) {
	var found []Device
	var left []*NodeError
	seen := map[Device]bool{}
	for _, path := range paths {
		d, err := statNode(path)
		switch {
		case err != nil:
			left = append(left, &NodeError{path, err})
		case !seen[d]:
			seen[d] = true
			found = append(found, d)
		}
	}
	return found, left
}

func statNode(path string) (Device, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Device{}, errors.Unwrap(err)
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

// Package cpuset is a set of CPUs: the list by which the kernel writes it, as the
// CPUs next to a GPU and those of a control group are told, and the bits that
// systemd takes on the bus.
package cpuset

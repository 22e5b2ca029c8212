// Package cpuset is a set of CPUs. It converts between the kernel's list, which describes the CPUs
// near a GPU and those of a control group, and the bit mask that systemd expects on D-Bus.
package cpuset

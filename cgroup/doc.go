// Package cgroup describes the limits and devices of a job's control group, and reads from the
// version 2 hierarchy what the group used. Only systemd writes to the hierarchy; this package never
// changes anything in it.
//
// Invariants:
//
//  1. A device is named by its numbers ("/dev/char/195:0"), never by a path, because systemd loses
//     an entry whose node is missing during a reload.
//  2. The list of extra devices never lets a job open a GPU's own node or the probe node. Only a
//     placement lets a job open a GPU, and nothing lets it open the probe.
//  3. A value that cannot be read is reported as unknown, never as zero.
//
// Only stats.go uses containerd/cgroups, for the CPU time, and exposes none of its types. That
// library reads a missing file as 0, so this package reads memory itself (invariant 3), as it does
// the lists of controllers and CPUs, each of which is a single line.
package cgroup

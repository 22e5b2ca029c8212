// Package cgroup describes the limits and devices of a job's control group, and reads what the
// group used from the version 2 hierarchy. Only systemd writes to the hierarchy; this package never
// changes anything in it.
//
// Invariants:
//
//  1. A device is named by its numbers ("/dev/char/195:0"), never by a path: systemd loses an entry
//     whose node is missing during a reload.
//  2. The list of extra devices never opens a GPU's own node or the probe node. Only placement
//     opens a GPU to a job, and nothing opens the probe.
//  3. A value that cannot be read is reported as unknown, never as zero.
//
// containerd/cgroups is used for keyed statistics only, in stats.go, which exposes none of its
// types. It reads a missing file as 0, so this package reads single values itself (invariant 3), as
// well as the lists of controllers and CPUs, which are one line each.
package cgroup

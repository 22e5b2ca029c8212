// Package cgroup holds what a job's control group is bounded by (limits and
// device entries, pure values) and reads what it used (read-only, from the
// version 2 hierarchy). systemd is the only writer of the hierarchy; this
// package never creates, moves, kills or changes anything in it.
//
// Invariants:
//
//  1. A device is named by its numbers ("/dev/char/195:0"), never by the path
//     of a node: systemd forgets a path entry whose node is absent while it
//     reloads.
//  2. A GPU's own node and the probe node never come from the list of extra
//     devices: a GPU is opened to a job by its placement only, and the probe
//     to nobody.
//  3. What cannot be read is reported as missing, never as zero.
//
// containerd/cgroups reads what it is good at, keyed statistics, and only in
// stats.go: no type of it leaves that file. Single amounts are read without it,
// as it takes a file that is not there for 0 (invariant 3), and so are lists of
// controllers and CPUs, which are one line each. It would write, too; systemd is
// the only writer.
package cgroup

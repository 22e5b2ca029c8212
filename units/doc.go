// Package units defines a job's systemd unit: its name, its properties, and how to decode its state. It is pure: no
// bus, no clock, no I/O. units/systemd has the bus; units/unittest is a systemd in memory that passes the same
// conformance suite.
//
// Invariants:
//
//  1. A job has one unit name, "gpujob-<id>.service". The invocation id distinguishes its attempts.
//  2. No property is private. Everybody can read the properties of every unit, so none contains the command,
//     environment or directory of a job. The launcher reads those from the spec file.
//     The unit's own environment has the job's id and its GPUs, as the description does.
//  3. The unit keeps its result until it is stopped (RemainAfterExit). So the result outlives the daemon, and systemd
//     refuses a second start under the same name.
//  4. Device entries are numeric. They contain the GPUs of the attempt and no others, and never the probe node.
//  5. Decode reads a level, not an edge: the same status gives the same answer, however often and in whatever order
//     it is read.
//  6. An exit status means a launch failure only if the launcher also reported it, and a systemd failure only if
//     nothing shows that the launcher was executed: a job may exit with any number.
package units

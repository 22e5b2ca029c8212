// Package units defines a job's systemd unit: its name, its properties, and how to decode its
// state. It uses no bus, no clock and no I/O. Package units/systemd talks to the bus. Package
// units/unittest is a systemd in memory, which passes the same conformance suite.
//
// Invariants:
//
//  1. A job has one unit name, "gpujob-<id>.service". The invocation id distinguishes its attempts.
//  2. No property is private. Everybody can read the properties of every unit, so none contains the
//     command, environment or directory of a job. The launcher reads those from the spec file. The
//     unit's environment and its description contain the job's id and its GPUs.
//  3. The unit keeps its result until it is stopped (RemainAfterExit). So the result outlives the
//     daemon, and systemd refuses a second start under the same name.
//  4. Device entries are numeric. They contain the GPUs of the attempt and no others, none of them
//     while the job is parked, and never the probe node.
//  5. Decode depends on the status alone, not on earlier statuses: the same status always gives the
//     same answer.
//  6. A job may exit with any number. So an exit status means a launch failure only if the launcher
//     also reported that failure, and a failure of systemd only if nothing shows that the launcher
//     was executed.
package units

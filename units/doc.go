// Package units says what a job's systemd unit is called, what it is made of
// and how to read what became of it. It is pure: no bus, no clock, no I/O. The
// bus lives in units/systemd; units/unittest is a systemd in memory for tests,
// held to the same conformance suite.
//
// Invariants:
//
//  1. One job has one unit name, "gpujob-<id>.service"; attempts are told
//     apart by the invocation id.
//  2. A property carries nothing private. Everybody can read the properties of
//     every unit, so the command, environment and directory of a job are never
//     among them; the launcher finds them in the spec file.
//  3. The unit keeps its result until it is stopped (RemainAfterExit), so that
//     a result outlives the daemon and a second start of the same name is
//     refused.
//  4. Device entries are numeric, only the GPUs of the attempt are among them,
//     and the probe node never is.
//  5. Decode reads a level, not an edge: the same status gives the same answer
//     however often and in whatever order it is read.
//  6. An exit status means a launch failure only together with the launcher's
//     own word for it, and a systemd failure only when nothing shows that the
//     launcher was executed: a job may exit with any number it likes.
package units

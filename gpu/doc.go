// Package gpu holds the values that describe the machine's GPUs as they were at
// one moment: a Snapshot of Devices, each with its health, memory and the
// processes on it, and how they travel as one JSON line between the process that
// talks to the driver and the daemon.
//
// It never loads a driver library, never decides a placement and never touches
// a process: it reads /proc at most (OwnerOf).
//
// Invariants, cited by tests:
//
//  1. A number that is not known is -1 (or, for byte sizes of a Device, 0 with
//     Health other than HealthOK), never a made-up value.
//  2. A Snapshot with a Problem has no devices; one without has Seq as asked.
//  3. What Decode accepts, Encode can write, and Decode reads the same again.
//  4. A line, the number of devices and the number of processes are bounded:
//     a broken child costs an error, not the daemon's memory.
//  5. Strings that came from other people's processes (Comm, Unit, cgroup
//     paths) are printable and bounded before they leave this package.
package gpu

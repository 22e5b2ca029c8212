// Package gpu holds the values that describe the machine's GPUs as they were at
// one moment: a Snapshot of Devices, each with its health, memory and the
// processes on it, and how they travel as one JSON line between the process that
// talks to the driver and the daemon.
//
// It also says how the devices are connected (Links) and which CPUs are next to
// each, which does not change while the machine is up.
//
// And it reads the driver's error reports out of lines of the kernel's log (Xid)
// and says what a GPU needs after which of them (XidClasses, Recovery).
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
//     paths) or from the kernel's log are printable and bounded before they leave this package.
//  6. A Link joins two devices of its Snapshot, each pair at most once; a list
//     of CPUs is "" or one that the kernel could have written.
//  7. An Xid has the form that the driver gives it, from the first byte on: no
//     line that begins with the name of a process, which is 15 bytes, is one.
package gpu

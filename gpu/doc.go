// Package gpu defines the values that describe the machine's GPUs at one moment: a Snapshot of
// Devices, each with its health, memory and processes. It encodes a Snapshot as the JSON line that
// gpusched-nvml sends to the daemon.
//
// It also describes how the devices are connected (Links) and which CPUs are near each device. Both
// stay the same while the machine is up. Finally, it parses the driver's error reports (Xids) in
// the kernel log, and says what a GPU needs after each (XidClasses, Recovery).
//
// It never loads a driver library, places a job or touches a process. It reads files only in /proc
// (OwnerOf).
//
// Invariants, cited by tests:
//
//  1. An unknown number is -1 and never invented. Exception: an unknown byte size of a Device is 0,
//     and then its Health is not HealthOK.
//  2. A Snapshot with a Problem has no devices. Any other Snapshot has the Seq of its request.
//  3. Encode can write every value that Decode accepts, and Decode then reads the same value again.
//  4. The length of a line and the numbers of devices and processes are bounded: a broken child
//     causes an error and cannot exhaust the daemon's memory.
//  5. Strings from other users' processes (Comm, Unit, cgroup paths) or the kernel log are
//     printable and bounded when they leave this package.
//  6. A Link joins two devices of its Snapshot, and each pair has at most one Link. A list of CPUs
//     is "" or in the kernel's format.
//  7. An Xid matches the driver's format from the first byte of the line. A line that begins with
//     the name of a process cannot match, because the name, of at most 15 bytes, ends before the
//     PCI address that the format needs.
package gpu

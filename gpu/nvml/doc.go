// Package nvml reads Snapshots of the machine's GPUs through NVIDIA's
// libnvidia-ml.so.1. It is the only importer of go-nvml, needs cgo, and belongs
// in a process of its own: calls into the driver can hang for ever, and some
// mistakes end the process without an error.
//
// It never changes anything on a GPU and never decides what follows from what
// it read.
//
// Invariants, cited by tests:
//
//  1. No function of the library is called before its symbol was looked up: a
//     missing one would end the process (exit 127).
//  2. A GPU that is lost, refuses or hangs costs itself: the others are read as
//     usual, and one that hangs is not asked again until the call returned.
//     A GPU of which a whole reading went wrong is read whole until one goes well, so one that
//     hangs in what a look leaves out holds looks up as long as samples.
//  3. The library is never unmapped and a process loads only one: the linker
//     binds each function at its first call, for good. Another library (after a
//     driver upgrade) needs another process: see NeedsRestart.
//  4. While there is no library or no driver, every Snapshot looks again.
//  5. Drivers 535.43 to 535.86 write past the buffer of a process list: there
//     the lists are not read, and HealthDetail says so.
//  6. How the GPUs are connected is no matter of a Snapshot's success: a pair that
//     the driver tells nothing about is left out, and a survey that hangs is not
//     waited for a second time.
//
// It must not be linked with "-z now", which is some compilers' default: then
// the program does not start where the library is missing. Link with
// -ldflags "-extldflags=-Wl,-z,lazy".
package nvml

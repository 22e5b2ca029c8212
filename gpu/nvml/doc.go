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
//  7. Serve gives every request exactly one line with its seq, read after the request came in and never out of turn;
//     anything else gets a line on stderr and the next request is served. What is held of a request is bounded by
//     MaxRequestBytes.
//  8. The end of the input is the end of Serve, with success; so is the answer after which the library NeedsRestart,
//     because only a fresh process can load another one.
//
// Serve and Print are what the program gpusched-nvml does:
//
//	stdin   {"op":"sample","seq":N}, or "look" for one without the energy
//	stdout  a gpu.Snapshot with that seq
//	stderr  talk
//
// It must not be linked with "-z now", which is some compilers' default: then
// the program does not start where the library is missing. Link with
// -ldflags "-extldflags=-Wl,-z,lazy".
package nvml

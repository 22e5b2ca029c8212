// Package nvml reads Snapshots of the machine's GPUs through NVIDIA's libnvidia-ml.so.1. It is the
// only importer of go-nvml and needs cgo. It belongs in a process of its own: calls into the driver
// can hang for ever, and some mistakes end the process without an error.
//
// It never changes anything on a GPU, and draws no conclusions from what it reads.
//
// Invariants, cited by tests:
//
//  1. No function of the library is called before its symbol was found: calling a missing function
//     ends the process (exit 127).
//  2. A GPU that is lost, refuses or hangs affects only itself. The others are read as usual. A GPU
//     that hangs is not asked again until the call returns. After a complete reading of a GPU has
//     failed, Looks read that GPU completely as well, until a reading succeeds. So if a GPU hangs
//     when its energy is read, Looks also wait for the timeout.
//  3. The library is never unmapped, and a process loads only one, because the linker binds each
//     function for good at its first call. Loading another library (after a driver upgrade) needs
//     another process: see NeedsRestart.
//  4. While the library or the driver is missing, every Snapshot looks for them again.
//  5. Drivers 535.43 to 535.86 write past the buffer of a process list. The lists of these drivers
//     are not read, and HealthDetail says so.
//  6. Connections between GPUs that can't be read do not make a Snapshot fail. Pairs that the
//     driver does not report are left out. If reading the connections hangs, only one Snapshot
//     waits for it.
//  7. Serve answers each request in order, with exactly one line that has its seq and was read
//     after the request arrived. Any other input causes a line on stderr, and the next request is
//     served. At most MaxRequestBytes of a request are kept.
//  8. Serve ends successfully at the end of its input. After an answer with NeedsRestart it ends
//     successfully too, because only a new process can load another library.
//
// Serve and Print implement the program gpusched-nvml:
//
//	stdin   {"op":"sample","seq":N}, or "look" for one without the energy
//	stdout  a gpu.Snapshot with that seq
//	stderr  messages
//
// The program must not be linked with "-z now", which is the default of some compilers: such a
// program does not start if the library is missing. Link with -ldflags "-extldflags=-Wl,-z,lazy".
package nvml

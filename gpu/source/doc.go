// Package source gets Snapshots for the daemon from its child gpusched-nvml: it
// starts the child, asks it, and gives it up when it hangs. It is the one place
// of the root daemon that may start a program.
//
// It never loads NVIDIA's library, never keeps a Snapshot and never answers
// from an earlier one.
//
// Invariants, cited by tests:
//
//  1. Sample returns by the end of its context and of Options.Timeout, whatever
//     the child does; a Snapshot it returns was read after the call began.
//  2. A child that does not answer in Timeout is killed and abandoned: nobody
//     waits for it. While MaxAbandoned of them have not ended (a call into the
//     driver cannot be killed), no other is started.
//  3. After a failure the next start is at once, then after 100 ms, doubling to
//     30 s; an answer, even one with a Problem, ends that.
//  4. A child does not outlive the daemon, however that ends.
//  5. What a child writes is bounded: a line by gpu.MaxLineBytes, its stderr by a
//     rate.
//  6. Close ends every goroutine but one per abandoned child, which ends with it.
package source

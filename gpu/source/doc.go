// Package source gets Snapshots for the daemon from its child gpusched-nvml: it starts the child,
// sends requests, and abandons the child if it hangs. No other part of the root daemon may start a
// program.
//
// It never loads NVIDIA's library, stores a Snapshot or answers with an earlier one.
//
// Invariants, cited by tests:
//
//  1. Sample returns before its context and Options.Timeout end, whatever the child does. A
//     Snapshot that it returns was read after the call began.
//  2. A child that does not answer within Timeout is killed and abandoned, and nobody waits for its
//     end. A call into the driver cannot be killed. While MaxAbandoned children have not ended, no
//     other child is started.
//  3. After the first failure the child is restarted at once, then after 100 ms, doubling to 30 s.
//     An answer, even one with a Problem, resets that delay.
//  4. A child does not outlive the daemon, however the daemon ends.
//  5. Output of a child is bounded: each line by gpu.MaxLineBytes, and stderr by a rate.
//  6. Close ends all goroutines except one for each abandoned child. That goroutine ends with its
//     child.
package source

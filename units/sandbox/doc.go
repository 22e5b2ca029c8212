// Package sandbox reports which restriction keeps the process at the other end of a
// socket from something that its account may do. Whatever runs a command outside of that process asks
// it first: the daemon of those who submit or open a job, the holder of a job's terminal
// of those who attach or run commands there.
//
// Invariants, cited by tests:
//
//  1. What is found is true of the process that connected: one that has ended, that began
//     later or that is not wholly its user's is an error.
//  2. A restriction counts where the process that is compared with does not have it too:
//     inside of a container all processes may have some.
//  3. What can't be read counts as a restriction.
package sandbox

// Package sandbox reports restrictions of the process at the other end of a socket: what keeps that
// process from something that its account may do. A program that can run a command for that process
// outside its sandbox looks for such restrictions first. The daemon looks when a process submits or
// opens a job. The holder of a job's terminal looks when a process attaches to the terminal or runs
// a command there.
//
// Invariants, cited by tests:
//
//  1. The report is about the process that connected. A process that has ended, that began after
//     the connection, or that does not fully belong to its user is an error.
//  2. A restriction counts only if the reference process does not have the same one: in a container
//     all processes may have some.
//  3. Anything that can't be read counts as a restriction.
package sandbox

// Package sandbox reports restrictions of the process at the other end of a socket: what keeps it
// from something that its account may do. Whoever runs a command outside that process asks first:
// the daemon about processes that submit or open a job, and the holder of a job's terminal about
// those that attach or run commands there.
//
// Invariants, cited by tests:
//
//  1. The report is about the process that connected. A process that has ended, that began later,
//     or that is not wholly its user's is an error.
//  2. A restriction counts only if the reference process does not have it too: in a container all
//     processes may have some.
//  3. Anything that can't be read counts as a restriction.
package sandbox

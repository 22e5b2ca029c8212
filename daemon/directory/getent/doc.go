// Package getent asks the C library's name service (nsswitch.conf) for accounts and groups, through
// getent(1). The modules of the name service need the C library, may hang, and are not our code: so
// each question is a process that can be killed.
//
// Invariants, cited by tests:
//
//  1. A question ends within limit, whatever a module does.
//  2. The key is one argument after "--". It is never read as an option or by a shell.
//  3. The answer is "not found" only if getent said so.
package getent

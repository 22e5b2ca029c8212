// Package getent asks the C library's name service (nsswitch.conf) for accounts and groups, by
// running getent(1). The modules of the name service need the C library, may hang, and are not part
// of this project. For each question, the package therefore runs a new process, which it can kill.
//
// Invariants, cited by tests:
//
//  1. A question ends within the time limit, whatever a module does.
//  2. The key is one argument after "--". Neither an option nor a shell command can be in it.
//  3. The answer is "not found" only if getent said so.
package getent

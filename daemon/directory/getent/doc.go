// Package getent asks the C library's name service (nsswitch.conf) who accounts and
// groups are, through getent(1): its modules need the C library, can hang, and are
// other people's code, so each question is a process that can be killed.
//
// Invariants, cited by tests:
//
//  1. A question is over after limit, whatever a module does.
//  2. What is asked is one argument after "--", never an option and never a shell's.
//  3. "Not found" is said only where getent said so.
package getent

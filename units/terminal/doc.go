// Package terminal is what the holder of a job's terminal (package hold) and those
// who attach to it agree on: how they find each other, and what goes between them.
//
// The holder runs in the job's unit as the job's user and listens at a name in the
// abstract namespace, which no file system has and nothing needs to clean up. The
// name ends in a random word, so that nobody can take it before. Who dials has the kernel
// list such sockets with their owners, and asks it again whose the one is that answered.
//
// Invariants, cited by tests:
//
//  1. Nothing is sent to a listener of another user, whatever its name.
//  2. A frame is bounded; what is not one ends the connection, and is never a panic.
package terminal

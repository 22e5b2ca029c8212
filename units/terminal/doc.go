// Package terminal is the protocol between the holder of a job's terminal (package hold) and its
// clients: how they find each other, and the frames that they exchange.
//
// The holder runs in the job's unit as the job's user. It listens at a name in the abstract
// namespace, which needs no file system and no cleanup. The name ends in a random word, so that
// nobody can take the name first. A client asks the kernel for such sockets and their owners. After
// connecting, it asks the kernel for the owner of the socket that answered.
//
// Invariants, cited by tests:
//
//  1. Nothing is sent to a listener of another user, whatever its name.
//  2. The size of a frame is limited. Anything but a frame ends the connection, and never causes a
//     panic.
package terminal

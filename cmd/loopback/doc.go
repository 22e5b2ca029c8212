// Package loopback is how the programs that answer browsers and scrapers of this machine listen: on
// the socket that systemd has opened, under no other machine's name.
//
// Invariants:
//
//  1. A host is this machine only where it is localhost or a loopback address, however it is written:
//     a name that leads here (DNS rebinding) is not.
//  2. Whoever holds many connections, by asking nothing or by not reading what is answered, keeps
//     nobody else out: those that wait for their client make room, the oldest first.
package loopback

// Package loopback is how the programs that answer browsers and scrapers of this machine listen: on
// the socket that systemd has opened, to a bounded number of connections, under no other machine's name.
//
// Invariants:
//
//  1. No more connections are open than are allowed; the kernel keeps the others waiting.
//  2. A host is this machine only where it is localhost or a loopback address, however it is written:
//     a name that leads here (DNS rebinding) is not.
package loopback

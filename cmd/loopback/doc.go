// Package loopback is for servers that answer browsers and scrapers of this machine. It listens on
// systemd's socket, accepts only this machine's names, and limits waiting connections.
//
// Invariants:
//
//  1. A host is this machine only if it is localhost or a loopback address, in any spelling. A name
//     that resolves to this machine (DNS rebinding) is not enough.
//  2. A client that holds many connections, without sending or without reading, does not lock
//     others out: the oldest connections that wait for their client are closed.
package loopback

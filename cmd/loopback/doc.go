// Package loopback helps servers that answer browsers and scrapers on the same machine. It listens
// on systemd's socket, accepts only host names of this machine, and limits waiting connections.
//
// Invariants:
//
//  1. A host is this machine only if it is localhost or a loopback address, in any spelling. A name
//     that resolves to this machine (DNS rebinding) is not enough.
//  2. A client that keeps many connections open, without sending or without reading, does not lock
//     other clients out. When too many connections wait for their client, the oldest are closed.
package loopback

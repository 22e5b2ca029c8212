// Package api is the contract between the daemon and its clients: the wire
// types (JSON, schema "gpusched.v1"), the closed list of error codes with one
// exit status each, the paths, and the client that the CLI links.
//
// Invariants:
//
//  1. Times are RFC 3339 in UTC, sizes are bytes, durations are seconds, GPUs
//     are named by UUID and index, states and reasons in words.
//  2. Fields are only ever added. A client ignores fields it does not know; a
//     server refuses fields it does not know, so that a mistyped wish is not
//     silently dropped.
//  3. Identity is never a field: the server takes it from the connection.
//  4. The private part of a job is sent to its owner and to admins alone.
package api

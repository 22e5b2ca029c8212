// Package api is the contract between the daemon and its clients: the wire
// types (JSON, schema "gpusched.v1"), the closed list of error codes with one
// exit status each, the paths, and the client that the CLI links.
//
// It is also a library for other programs:
//
//	client := &api.Client{}
//	req, err := api.NewRequest(os.Environ(), "python", "train.py")
//	reply, err := client.Submit(ctx, req)
//	ended, err := api.Wait(ctx, client, reply.Job.ID.String(), 0)
//
// Its version is the module's, which follows semantic versioning; what travels is
// Schema, whose invariants (1 and 2) let clients and daemons of different releases talk
// to each other. A program that is to build for long names a released version in go.mod.
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

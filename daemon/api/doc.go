// Package api is the contract between the daemon and its clients: the wire types (JSON, schema
// "gpusched.v1"), the closed list of error codes with an exit status each, the routes, and the
// client that the command line links.
//
// It is also a library for other programs:
//
//	client := &api.Client{}
//	req, err := api.NewRequest(os.Environ(), "python", "train.py")
//	reply, err := client.Submit(ctx, req)
//	ended, err := api.Wait(ctx, client, reply.Job.ID.String(), 0)
//
// The package has the module's version, which follows semantic versioning. The wire format has its
// own, Schema. Invariants 1 and 2 let clients and daemons of different releases talk to each other.
// A program that should keep building requires a released version in its go.mod.
//
// Invariants:
//
//  1. Times are RFC 3339 in UTC, sizes are bytes, durations are seconds. GPUs are named by UUID and
//     index, states and reasons by words.
//  2. Fields are only ever added. A client ignores unknown fields. A server refuses them, so that a
//     mistyped option is not dropped silently.
//  3. Identity is never a field: the server takes it from the connection.
//  4. The private part of a job is sent to its owner and to administrators alone.
package api

// Package api is the contract between the daemon and its clients. It has the types of requests and
// replies (JSON, schema "gpusched.v1"), the closed list of error codes with an exit status for
// each, the routes, and the client that the command line uses.
//
// Other programs can use it as a library:
//
//	client := &api.Client{}
//	req, err := api.NewRequest(os.Environ(), "python", "train.py")
//	reply, err := client.Submit(ctx, req)
//	ended, err := api.Wait(ctx, client, reply.Job.ID.String(), 0)
//
// The package has the version of the module, which follows semantic versioning. The JSON has a
// version of its own, Schema. Because of invariants 1 and 2, clients and daemons of different
// releases can talk to each other. A program that should keep building requires a released version
// in its go.mod.
//
// Invariants:
//
//  1. Times are in UTC in the form of RFC 3339, sizes are in bytes, and durations are in seconds.
//     GPUs are named by UUID and index. States and reasons are words.
//  2. Fields may be added, but not removed or changed. A client ignores unknown fields. A server
//     refuses them, so that no mistyped option is silently ignored.
//  3. No field identifies the caller: the server takes the identity from the connection.
//  4. The private part of a job is sent only to its owner and to administrators.
package api

// Package servertest has a Backend whose answers a test writes down, for tests of the server and of
// its clients. It owns no rules of scheduling: a job is what the test says it is, and moves only
// when the test or a command moves it.
//
// Invariants:
//
//  1. It keeps to the contract of server.Backend: refusals of rights, not-found and conflict are
//     *job.Refusal; listings have live jobs first, then ended jobs, newest first.
//  2. It records every accepted change in order.
//
// It does not run daemon/core on a memory store, for three reasons. The core computes reasons, GPU
// states and figures from samples and its plan, while each fixture sets them by hand for one screen.
// So View would stay in any case, and only commands about jobs could go through a core. There a
// cancel or requeue of a running job ends with systemd's answer, which the Backend would have to
// fake. And the core checks an update against the GPUs of a sample, which a fixture does not have.
package servertest

// Package servertest has a Backend for tests of the server and of its clients. A test sets the
// answers. The package has no rules of scheduling: a job is what the test says, and changes only
// when the test or a command changes it.
//
// Invariants:
//
//  1. The Backend obeys the contract of server.Backend. If a right or a job is missing, or if a
//     command conflicts with a job's state, the error is a *job.Refusal. Listings have live jobs
//     first, and then ended jobs, newest first.
//  2. The Backend records every accepted change in order.
//
// The Backend does not run daemon/core on a store in memory, for three reasons. First, the core
// computes reasons, GPU states and figures from samples and its plan, while each test sets them by
// hand. The field View would be needed in any case, and only commands about jobs could use a core.
// Second, in a core the cancel or requeue of a running job ends with systemd's answer, which the
// Backend would have to invent. Third, the core checks an update against the GPUs of a sample,
// which a test does not have.
package servertest

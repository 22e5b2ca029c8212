// Package servertest has a Backend whose answers a test writes down, for tests
// of the server and of its clients. It owns no rules of scheduling: a job is
// what the test says it is, and moves only when the test or a command moves it.
//
// Invariants:
//
//  1. It keeps to the contract of server.Backend: rights on jobs, not-found and
//     conflict as *job.Refusal, listings live first and ended newest first.
//  2. Everything it was asked to change is recorded in order.
package servertest

// Package await limits every wait of the tools and machine tests of this repository: for a command,
// for a state, or for anything else that may never come. It does not know what its callers wait
// for.
//
// Invariants:
//
//  1. Every wait has a limit, even if the caller's context has none.
//  2. An error says what the caller waited for, how long, and what the last call saw.
//
// TestNoNakedWaits enforces this in the packages below packaging, contrib and gpu/fakenvml.
package await

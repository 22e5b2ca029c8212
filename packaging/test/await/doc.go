// Package await limits every wait of the tools and machine tests of this repository: for a command,
// for a state, or for anything else that may never come. It does not know what is waited for.
//
// Invariants:
//
//  1. Every wait has a limit, even if the caller's context has none.
//  2. An error says what was waited for, for how long, and what was seen last.
//
// TestNoNakedWaits enforces this in the packages below packaging, contrib and gpu/fakenvml.
package await

// Package await is how the tools and the machine tests of this repository wait: for a command, for a state, for
// anything that may never come. It knows nothing of what is waited for.
//
// Invariants:
//
//  1. Every wait has a limit, also where the caller's context has none.
//  2. An error says what was waited for, for how long, and what was seen last.
//
// TestNoNakedWaits keeps the packages below packaging and contrib, and gpu/fakenvml, to it.
package await

// Package bugreport takes out of text what a bug report must not have: names of
// people, groups and machines, paths of people's files, addresses, tokens, and the
// values of fields that may hold what somebody typed.
//
// Invariants, cited by tests:
//
//  1. The same name becomes the same word everywhere, so that who is who can be
//     followed without being known.
//  2. A field of a log line keeps its value only if it is on the list of those that
//     nobody but the scheduler fills in.
//  3. What is not known to be harmless is masked, also where nothing needs it.
package bugreport

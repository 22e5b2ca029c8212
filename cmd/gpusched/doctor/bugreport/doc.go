// Package bugreport removes private data from the text of bug reports: names of people, groups and
// machines, paths of people's files, addresses, tokens, and field values that somebody may have
// typed.
//
// Invariants, cited by tests:
//
//  1. The same name becomes the same word everywhere, so that readers can follow a person without
//     knowing who it is.
//  2. A field of a log line keeps its value only if it is on the list of fields that only the
//     scheduler fills in.
//  3. Whatever is not known to be harmless is masked.
package bugreport

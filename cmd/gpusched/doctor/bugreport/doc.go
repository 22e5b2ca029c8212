// Package bugreport removes private data from bug reports: names of people, groups and machines,
// paths of people's files, addresses, tokens, and field values that somebody may have typed.
//
// Invariants, cited by tests:
//
//  1. A name is always replaced with the same word. So readers can follow one person through the
//     report without knowing who it is.
//  2. A field of a log line keeps its value only if the field is on a list. Only the scheduler
//     fills in the fields on that list.
//  3. Everything that is not known to be harmless is masked.
package bugreport

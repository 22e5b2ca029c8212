// Package progress tells a waiting user how far long work is: by one line at the end of a terminal,
// which is removed when the work is done.
//
// Invariants, cited by tests:
//
//  1. Nothing is written to a file, or to a terminal without escape sequences.
//  2. Work that is done at once shows nothing.
//  3. The line never takes more than one line, whatever the width, and leaves nothing behind. Other
//     output meanwhile (Aside) appears whole, above it.
package progress

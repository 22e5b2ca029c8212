// Package progress shows somebody who waits how far long work is: one line at the end of a
// terminal, which goes when the work is done.
//
// Invariants, cited by tests:
//
//  1. What is not a terminal, or one that knows no escape sequences, gets nothing.
//  2. Work that is done at once shows nothing.
//  3. The line is one line, whatever the width, and leaves nothing behind; what else is
//     printed meanwhile (Aside) is above it, whole.
package progress

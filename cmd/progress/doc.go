// Package progress shows the progress of long work to a waiting user. It prints one line at the end
// of the terminal, and removes the line when the work is done.
//
// Invariants, cited by tests:
//
//  1. Nothing is written to a file, or to a terminal without escape sequences.
//  2. Work that is done at once shows nothing.
//  3. The progress never takes more than one line, whatever the terminal's width, and leaves
//     nothing behind. Other output meanwhile (Aside) appears complete, above the line.
package progress

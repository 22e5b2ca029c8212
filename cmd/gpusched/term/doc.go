// Package term writes for people and for spreadsheets: what a terminal can show,
// colours, times, and tables that fit. It knows nothing of jobs but how the daemon
// writes a time in a sentence.
//
// Nothing another user chose reaches a terminal unsanitised: cells are cleaned
// here, other text by whoever prints it, with Clean.
package term

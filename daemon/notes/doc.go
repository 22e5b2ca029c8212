// Package notes puts notes of the scheduler into the journals of jobs.
//
// Invariant: a user who keeps a note from being printed keeps no note of another
// user's from it, and each note is given up after its time.
package notes

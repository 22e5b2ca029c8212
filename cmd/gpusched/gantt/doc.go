// Package gantt draws a plan of the GPUs over a time axis. Each GPU has one row, or several rows if
// jobs share it.
//
// Invariants:
//
//  1. No line is wider than the picture's width, and all rows have the same number of columns.
//  2. Each kind of span has its own character, so that the picture can be read without colour.
package gantt

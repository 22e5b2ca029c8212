// Package gantt draws a plan of the GPUs: a row for each, or several where jobs share it, over a
// time axis.
//
// Invariants:
//
//  1. No line is wider than the picture may be, and each row has the same number of columns.
//  2. Each kind of span has its own character, so that nothing depends on colour alone.
package gantt

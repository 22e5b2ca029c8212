// Package gantt draws what becomes of the GPUs: a row for each, or several where jobs
// share it, over a time axis.
//
// Invariants:
//
//  1. No line is wider than the picture may be, and each row has as many columns.
//  2. Each kind of span has a character of its own, so that nothing is told by colour alone.
package gantt

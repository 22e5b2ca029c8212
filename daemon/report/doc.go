// Package report counts what jobs took of the machine and what they made of it: GPU-hours,
// memory, energy, waiting, ends, and what was used of what was asked. It is given runs, one
// after the other, and keeps sums.
//
// Invariants, cited by tests:
//
//  1. Of a run that crosses the edge of a window, or of a day, the part inside counts, and
//     the parts of one run add up to it.
//  2. What is not known is left out of a mean and of a ratio, never counted as 0; a figure
//     of which nothing is known is nil.
//  3. A run that ended before it began, by a clock that was set, took no time.
//  4. Where a job counts in several rows (tags, groups), the total counts it once.
//  5. The number of rows is bounded.
package report

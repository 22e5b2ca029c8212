// Package report sums up what jobs used and achieved: GPU-hours, memory, energy, waits, outcomes,
// and the used part of the requested resources. It receives runs one after the other and keeps only
// sums.
//
// Invariants, cited by tests:
//
//  1. If a run crosses the edge of a window or a day, the part inside counts. The parts of a run
//     add up to the run.
//  2. Unknown values are left out of means and ratios, and never count as 0. A result without known
//     values is nil.
//  3. If a run ended before it began, because the clock was set, it took no time.
//  4. A job that counts in several rows (tags, groups) counts once in the total.
//  5. The number of rows is bounded.
package report

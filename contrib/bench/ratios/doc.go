// Package ratios says how a figure stands to another one that was measured in turns with it, how sure that is, and
// whether a run has fallen behind the one that was accepted. It measures nothing and does no I/O.
//
// Invariants:
//
//  1. An interval covers the true ratio in about 95 of 100 runs of the same, also where a run has only a few rounds.
//  2. A run is judged worse only where its whole interval is on the wrong side of the accepted one, and its ratio by
//     more than slack.
//  3. A row that a part measured when it was accepted, and does not now, counts as worse.
package ratios

// Package metrics defines the scheduler's metrics for monitoring systems: the table of their names,
// the counts that are kept while the daemon runs, and two text formats. The formats are OpenMetrics
// 1.0, and the Prometheus format that node_exporter reads. The package measures nothing itself.
//
// Invariants:
//
//  1. Every sample belongs to a family in the table and has the family's labels; any other sample
//     panics. gpusched-metrics(7) is generated from the table.
//  2. Everybody on the machine may read a page. No label names a job, its command or its owner's
//     words. Users are named only if the site allows it.
//  3. The number of label values is bounded: by the GPUs, by a list in the code, or by a constant.
//  4. The same state gives the same text. Nothing depends on the order of a map.
package metrics

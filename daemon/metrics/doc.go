// Package metrics is what the scheduler tells a monitoring system: the table of
// its metrics, what is counted for them while the daemon runs, and their text, as
// OpenMetrics 1.0 or in the older text format of Prometheus, which node_exporter
// reads. It owns the names. What the metrics are measured on it is given.
//
// Invariants:
//
//  1. Every sample is of a family in the table, with that family's labels: another
//     one panics. Gpusched-metrics(7) is made from the table.
//  2. Everybody on the machine may read a page. No label names a job, its command
//     or what its owner called it; users are named only where the site asks for it.
//  3. Labels are bounded: by the GPUs, by a list in the code, or by a number.
//  4. The same state is the same text: nothing depends on the order of a map.
package metrics

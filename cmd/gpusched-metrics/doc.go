// Command gpusched-metrics gives what the scheduler measures to programs that can't ask
// its socket: GET /metrics on a port that systemd opened (gpusched-metrics.socket), and,
// with --job-mapping, a file for each GPU with the jobs on it, as dcgm-exporter reads
// them (gpusched-job-mapping.service). It runs as nobody in particular and may do what
// every account may: ask the scheduler.
//
// Invariants:
//
//  1. Whatever comes over the port, one question is asked of the scheduler, and that
//     one alone: GET /v1/metrics. What is not GET or HEAD of /metrics, or names
//     another host than this machine, is refused before.
//  2. How many connections there are, how long each may take and how many questions go
//     to the scheduler at once is bounded. Clients that ask or read slowly keep nobody out.
//  3. In the directory of the mapping it writes files that a GPU's number names, whole
//     ones in the place of old ones, and follows no link.
package main

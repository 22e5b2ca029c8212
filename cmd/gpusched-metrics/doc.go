// Command gpusched-metrics exports the scheduler's measurements to programs that cannot ask its
// socket. It answers GET /metrics on a port that systemd opened (gpusched-metrics.socket). With
// --job-mapping it writes a file for each GPU with its jobs, as dcgm-exporter reads them
// (gpusched-job-mapping.service). It runs as an unprivileged user, and asks the scheduler as
// everybody may.
//
// Invariants:
//
//  1. The only request that it sends to the scheduler, whatever arrives on the port, is GET
//     /v1/metrics. It refuses requests other than GET or HEAD of /metrics, and requests that name
//     another host, without asking the scheduler.
//  2. The number of connections, their duration and the number of simultaneous requests to the
//     scheduler are bounded. Slow clients do not lock others out.
//  3. In the mapping directory it writes files named after a GPU's index, replaces each as a whole,
//     and follows no links.
package main

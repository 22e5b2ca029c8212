// Command gpusched-metrics exports the scheduler's metrics to programs that cannot use its socket.
// It answers GET /metrics on a port that systemd opened (gpusched-metrics.socket). With
// --job-mapping it writes one file per GPU that lists the GPU's jobs, in the format of
// dcgm-exporter (gpusched-job-mapping.service). It runs as an unprivileged user, and sends only
// requests that every user may send.
//
// Invariants:
//
//  1. Whatever arrives on the port, the only request that the command sends to the scheduler is GET
//     /v1/metrics. The command refuses requests other than GET or HEAD of /metrics, and requests
//     that name another host, without asking the scheduler.
//  2. The number of connections, their duration and the number of simultaneous requests to the
//     scheduler are bounded. Slow clients do not lock other clients out.
//  3. In the mapping directory the command writes only files named after a GPU's index. It replaces
//     each file as a whole, and follows no links.
package main

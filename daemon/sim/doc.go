// Package sim replays a trace of jobs through the real scheduler under a virtual clock, and
// measures the outcome. As in the daemon, daemon/core and daemon/sched make every decision, event
// by event. This package replaces their environment: systemd, the driver, the submitters and the
// clock. Units start and stop in no time, and the driver answers at once. So the package measures
// the effects of the order of jobs, not the machine's delays.
//
// It never decides a placement or an order, with one exception: the baseline "fifo-strict" hands
// jobs to the core one by one. It never uses a real clock, a file or a socket.
//
// Invariants, checked in every run and cited by tests:
//
//  1. No GPU is allocated beyond its 1000 milli-GPUs or its memory, and a job gets exactly as many
//     distinct GPUs as it requested.
//  2. The GPU time of all jobs in the core's records equals the integral over time of the GPUs that
//     the machine saw in use.
//  3. The waiting and running times of a job add up to its completion time. The job runs for
//     exactly its run time plus the cost of its interruptions.
//  4. Every job of the trace that fits on the machine completes, once.
//  5. The same trace, options and seed give the same decisions, and so the same Outcome.Hash.
//  6. No outcome is better than its lower bounds.
package sim

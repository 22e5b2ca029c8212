// Package sim replays a trace of jobs through the real scheduler under a
// virtual clock, and says what came of it. Every decision is made by
// daemon/core and daemon/sched, event by event, as in the daemon; this package
// is what stands around them there: systemd, the driver, the submitters and
// the clock. In it a unit starts and stops in no time and the driver answers at
// once, so what is measured is the order of jobs, not the machine's delays.
//
// It never decides a placement or an order (the baseline "fifo-strict" hands
// jobs to the core one by one instead), and never touches a clock, a file or a
// socket.
//
// Invariants, checked in every run and cited by tests:
//
//  1. A GPU is never given out beyond its 1000 milli-GPUs or its memory, and a
//     job holds exactly the distinct GPUs that it asked for.
//  2. The GPU time of all jobs, by the core's own records, is the integral of
//     what the machine saw in use.
//  3. Waiting and running together are a job's completion time, and it ran for
//     its run time and what its interruptions cost, no more and no less.
//  4. Every job of the trace that the machine can serve completes, once.
//  5. The same trace, options and seed give the same decisions: Outcome.Hash.
//  6. No outcome is better than its lower bounds.
package sim

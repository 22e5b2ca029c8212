// Package sched decides which waiting jobs start on which GPUs and which running jobs are
// preempted. For every job that continues to wait, it says why and until when. The package is pure:
// the same Snapshot and Queue always give the same Plan. contrib/SCHEDULING.md has the details of
// the rules, the reasons for them, and measurements.
//
// A Planner makes passes over the queue. plan.go shows a pass from top to bottom. A Planner
// consists of parts, and each part has its own state:
//   - pass: what the pass reads, and the order of the jobs
//   - walk: the buckets of jobs at which the pass has not looked
//   - room: what the machine has left
//   - backfill: the reservations for jobs that do not fit
//   - limits: quotas and lanes
//   - chooser: which GPUs a job gets
//   - victims: which jobs are preempted
//
// A bucket is a list of jobs that differ only in id and waiting time. A shape is what a job asks
// for. A footprint is the part of a shape that concerns GPUs. Amounts of GPUs are in milli:
// thousandths of a GPU.
//
// Order. Jobs of a higher class come first, then jobs of a higher number. Next come jobs that are
// owed their start, and then guarded jobs. Jobs that are not guarded are then ordered by score, the
// highest first. If the scores are equal, the job whose wait counts from an earlier moment comes
// first. If these moments are equal as well, the job with the lower id comes first. The score is 1
// + F·w/E: w is the wait, E the expected run time, and F the account's fair-share factor. F is
// 2^-x, where x is the amount by which the account's use is above its fair part, relative to that
// part. While accounts with larger shares have jobs waiting and have all had less for their shares,
// x is higher. A job is owed its start once other jobs were stopped for it. It is guarded once it has
// waited longer than Policy.GuardAfter. Under Policy.FIFO only class, number, Since and id count.
//
// Batches. Jobs of one account, class and priority number that name the same batch run in order of
// size, largest first. A batch never moves a job forward.
//
// Placement. A pass looks at the jobs in order and places each job that fits. The first
// Policy.ReservationDepth jobs that do not fit get a reservation. A reservation begins when enough
// running jobs will have ended, and takes the GPUs that become free last. A later job starts only
// if it ends before the reservation begins, or if it fits into what the reservation leaves free.
//
// Quotas. A job that exceeds a quota of its account is skipped. In each account, the first job that
// only a quota holds back keeps its place in that quota: later jobs of the account may not delay
// it. A job is also skipped while one of its lanes is full, and keeps nothing then.
//
// Choice. A part of a GPU goes to the fullest GPU that has room, or with Spread to the emptiest.
// Whole GPUs are of one model if a model has enough of them, and have the best links among
// themselves. GPUs for which parked jobs wait, small GPUs and GPUs with foreign processes come last.
//
// Preemption. The first 16 jobs that do not fit may preempt running jobs. A victim is preemptible
// or can be parked, and has run for at least a slice. If it can be parked and Snapshot.ParkBytes and
// the host's memory have room for its copy, it is parked: it gives up only its GPUs. If not, a
// preemptible victim is stopped. A parked job comes back to GPUs of the same model. It holds all else
// that it needs, so quotas, lanes and host resources don't keep it from coming back. A victim is of a lower
// class or number, or else its score is lower by a margin that grows with its width (its number of
// GPUs). Once a preempted job runs again, jobs that are no wider can't take its GPUs for four slices.
// Jobs are stopped for one job of several GPUs at a time: until it starts, none are stopped for jobs
// that rank lower. Stops within a class and number cost no more than Snapshot.ForStops.
//
// Forecast. A forecast simulates the coming passes by these rules on copies, as if no jobs were
// added. It simulates 19 futures, with run times drawn from the jobs' estimates. The forecast of a
// job's start is the most central moment, with a range.
//
// # Invariants
//
//  1. Capacity: the shares on a GPU sum to at most 1000 milli; a job with whole GPUs is alone on
//     them; promised memory fits into free memory; each started job has a slot, host memory and
//     CPUs. The copies of the jobs that are parked fit into Snapshot.ParkBytes and into the host
//     memory that is left.
//  2. Gang: a job gets all of its GPUs, distinct ones, or none. A job that names GPUs gets exactly
//     these. A parked job gets exactly those that it gave up, of each the same part.
//  3. No job is placed on a GPU that is not in state OK or that is reserved for other accounts.
//  4. Work conservation: if a job waits although neither a limit nor an earlier job of its account
//     holds it back, it does not fit into what the reservations leave free.
//  5. No delay: while jobs end no later than expected, the first reservation moves to a later time
//     only because of jobs that go before the reserved job. Under FIFO with exact run times, the
//     reserved job starts at the moment that was first reserved for it.
//  6. After a plan all accounts are within their quotas. The first job that a quota holds back
//     starts no later than at the moment that the planner found for it.
//  7. The optimised pass makes the same decisions as the plain pass in the tests, which sorts all
//     jobs.
//  8. A pass that places nothing allocates nothing.
//  9. The wait of a job does not include time in which quotas allowed no job of that size to start,
//     except under FIFO.
//  10. If a job was stopped for another job, it is not stopped again before that other job has
//     ended, or has had its GPUs for a slice.
//  11. If a job was stopped after at least a slice and runs again, some jobs can't stop it for four
//     slices: those of its class and priority number that are no wider and not guarded.
//  12. A user who comes to a queue that another user has flooded gets 45 % of the GPU time of the
//     next two days.
//  13. On no workload of daemon/sim does the mean completion time exceed 1.02 times that of
//     backfill in the order of submission.
//  14. A preemptible or parked job that ran before preempts no job that is at least as wide. So no
//     two jobs ever preempt each other in turn.
//  15. If jobs are stopped for a job of several GPUs, none of them starts again before it, unless a
//     job that ranks higher comes, or a limit or a GPU's state holds it back.
//
// TestGoals in daemon/sim checks invariants 12 and 13 on different workloads, with fixed seeds.
package sched

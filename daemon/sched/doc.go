// Package sched decides which waiting job starts on which GPUs and which running job makes room, and says for each
// other job why it waits and until when. It is pure: a Snapshot and a Queue go in, a Plan comes out; the same input
// always gives the same Plan. contrib/SCHEDULING.md has the reasons for the rules, their details and measurements.
//
// Order. Jobs go by class, number, whether they are owed their start, whether they are guarded, score (all higher
// first), the moment from which their wait counts, and id. The score is 1 + F·w/E: w is the wait, E the expected run
// time, and F the fair-share factor of the account, 2^-x, where x is how much more than its part the account has had.
// A job is owed its start once others were stopped for it. Under Policy.FIFO only class, number, Since and id count.
//
// Batches. Jobs of one account, class and number that name the same batch run larger ones first. A batch only moves
// jobs back.
//
// Placement. The jobs are looked at in order; one that fits is placed. The first Policy.ReservationDepth ones that do
// not fit get a reservation: the GPUs that become free latest, and the instant (shadow) at which running jobs will
// have ended. A job behind a reservation starts only if it ends by the shadow or fits into what is left over there.
//
// Quotas. A job at a quota of its account is passed over. The first of an account that only a quota keeps back keeps
// its place in that quota from jobs of the same account behind it.
//
// Choice. A part of a GPU goes to the fullest GPU with room (with Spread to the emptiest), whole GPUs are of one model
// with the best links among themselves. Small GPUs and GPUs that processes from outside use come last.
//
// Preemption. One of the first 16 jobs that do not fit may have preemptible jobs stopped that have run for a slice and
// are of a lower class or number, or of the same and have a score lower by a margin that grows with their width. A
// job that was stopped and goes on keeps its GPUs for four slices from jobs that are no wider.
//
// Forecast. The passes to come are made by these rules on copies, as if nothing new came, in 19 futures in which run
// times are drawn from what is believed of them. A start is told as the moment with the smallest error, and a range.
//
// # Invariants
//
//  1. Capacity: the shares on a GPU sum to at most 1000 milli, a job of whole GPUs is alone on them, promised memory
//     fits into what is free, and jobs that start find a place, host memory and CPUs.
//  2. Gang: a job gets all of its GPUs, distinct ones, or none; one that names GPUs gets exactly these.
//  3. Nothing is placed on a GPU that is not in state OK, or that is reserved for others.
//  4. Work conservation: no job that a plan leaves over, and that is at no bound and waits for none of its account,
//     fits into what is free less what reservations need.
//  5. No delay: while jobs end no later than counted on, the shadow of the first reservation never moves later but for
//     jobs that go before; under FIFO with exact run times its job starts at its first shadow.
//  6. Quotas hold for every account after the plan, and for the first job that one keeps back by the moment found.
//  7. The optimised pass equals the plain one of the tests, which sorts all jobs.
//  8. A pass that places nothing allocates nothing.
//  9. A wait never includes time in which quotas let no job of that size start, but under FIFO.
//  10. Between two stops of a job the one for which it was stopped first has ended, or has had its GPUs for a slice.
//  11. A job that was stopped after a slice or more and goes on is not stopped again for four slices by one of its
//     class and number that is no wider and does not go first by its wait.
//  12. A user who comes to a queue that another has flooded gets 45 % of the GPU time of the next two days.
//  13. On no workload of daemon/sim the mean completion is more than 1.02 times that of submission order with backfill.
//  14. A preemptible job that ran before has none stopped that is no narrower: no two jobs are ever stopped for each
//     other.
//
// TestGoals holds 12 and 13 on workloads that disagree, with fixed seeds.
package sched

// Package sched decides which waiting job starts on which GPUs, which running
// job makes room, and says for each other one why not and until when. It is
// pure: a Snapshot and a Queue go in, a Plan comes out.
//
// It never reads a clock, draws a random number or iterates over a map where
// order could leak: the same input always gives the same Plan.
//
// # The rules
//
// Order. A job goes before another by class, then by number (both higher
// first), then if it is owed its start and the other is not, then the same if it is guarded, then by score, higher
// first, then by the moment from which its wait counts, then by id. That is Since and
// the time after it in which its account, or a group, was at its quota for jobs of its
// size and for all that it had waiting (Account.Capped), which is not waited for others. Score is 1 + F·w/E: w is
// how long it has waited since that moment, E its expected run time rounded up to a power of
// two seconds, or of a job that may be stopped for others its effort (see Preemption), rounded up
// to half an octave, and F the fair-share factor of its account. A job is owed its start from when
// others are stopped for it (see Preemption) until it starts, is held or asks something else: it goes before those
// of its class and number, and is in no batch. An array is owed nothing. Guarded jobs
// go by that moment and id among themselves. Under Policy.FIFO it is class, number,
// Since, id.
//
// Fair share. F is 2^-x, where x is how much more than its part the user has had, in such parts: -1
// for one that had nothing, 0 for one that had its part. What it had is its decayed use, its part that
// of its share among the shares of those who wait or run something now, of what all of these had. So
// nobody gains or loses by what those used who are away, and a newcomer among n stands between a user
// who had its part and one who had all as 2 to 1 to 2^(1-n). All are taken to have had besides their
// parts of the whole machine for a 168th of the half-life, so that little use decides little. As the
// wait counts too, shares are met among those whose jobs are alike and came at once; of two with
// shares of 1 and 3 who queue a job for each that starts the second gets 1.6 times as much. Groups
// that have a share divide with each other and with the users in no such group, then their members
// with each other: the x of a member is the sum of both, in the mean over such groups.
//
// Batches. Jobs of one account, class and number that name the same batch stand by
// size among themselves: GPUs times run time, then run time, larger ones first, then
// by Since and id; a run time is rounded up to three binary digits here, and so it is
// in Placement for them. No job goes before a larger one of its batch: where it would
// by the order above, it stands at the last place of those and behind them. So a batch
// only ever moves jobs back, and nobody stands higher for being in one, whatever else
// is put into it: with the mean run time, say, a long job could be carried by many
// that take a second. Guarded jobs are in no batch. A running job counts
// by itself, as does one that could be stopped for a reservation. (With the run times
// of Order in Placement, batches of known run times took 1.021 times their lower
// bound in the mean, with these 1.016: contrib/sim.)
//
// Placement. The jobs are looked at in order. One whose account is at its
// quota or barred, or whose array runs as many tasks as it may, is passed over, and one
// that asks no GPU where those that ask none have all places of their share. So is one
// that waits for another of its account (see Quotas). One that
// fits is placed. The first Policy.ReservationDepth ones that do not fit, and
// will once running jobs end as expected, get a reservation: the instant
// (shadow) at which that is so, and the GPUs that become free latest. The shadow is that of the last
// running job that has to end, so it is rarely a typical one: each is counted on from Running.Late,
// once four in five like it have ended. As each of a stream of like jobs would then pass the job that the last one
// had just passed, that is so only until the job has waited for Policy.Patience times as long as it is
// expected to run itself; from then on half have to have ended. (Measured: contrib/sim.) One that
// would not fit either if all of them had ended, and all GPUs were back that are
// expected, is passed over. Where there is no such instant for another, since a load
// keeps it or a reservation of an administrator, it is not tried for others of its
// shape, nor for more than 16 shapes of one account, which bounds the time of a pass. A job
// behind a reservation fits only if it ends by the shadow (one that could then be
// stopped for the other: if it has had its slice by then), if with both taken late it does so
// (four in five like it will have ended at the shadow that follows where that is always asked of those
// that run), or if it also fits into what the reservation leaves over at the shadow. Of the machine besides GPUs a
// job needs a place to run in, its host memory and its CPUs; one that asks no GPU needs
// them of the share of such jobs as well. A job that names no CPUs waits for none: it counts
// for its GPUs' part of Host.GPUCPUs, or for what is left to it and its account where that
// is less. A GPU that an
// administrator reserved for its account is kept from it for no job of others.
//
// Quotas. The first waiting job of an account that fits once all has ended, and which as the pass
// began was kept back by a quota of the account or of a group of it that it is within by itself, or
// for which the pass keeps GPUs, keeps its place in the quotas of what the account has at once: by
// the expected ends of what runs there is a moment at which they and those of its groups let it
// start, for one with a reservation the shadow if that is later. A job of the account behind it is
// passed over that would run on after that moment, unless the quotas then hold for both. That
// is backfilling within an account: what a stream of an account's small jobs leaves of a quota
// would never be enough for a large one of its own. In the quotas of a group the first keeps its
// place of all jobs of its members that these very quotas keep back, or for which GPUs are
// kept: nobody waits since another is at a quota of the other's own. Where there is no
// such moment, where hours are used up or the account is barred, nothing is kept.
// Of a quota of CPUs a job that names none counts for no more than is left beside the other's.
//
// Choice. A part of a GPU, of one of which parts are given, goes to the fullest GPU that has room (best fit), or
// with Spread to the emptiest; then to the one with fewest jobs, then the
// lowest index. One of which all is kept for a job comes after those. Several whole GPUs are of
// one model where there are enough of it: of the first such one. They are the set with the best links among
// themselves, then the one that leaves the best links to the rest, then the lowest
// indexes. A GPU with less than a quarter of the memory of the largest, as one for the display has, comes
// after the others. GPUs that a process from outside uses come last in any case; one that
// it has taken (it computes, or has much memory) is given as a whole one to no job
// that says neither how much memory it needs nor how much may be in use.
//
// Preemption. One of the first 16 that do not fit, without those passed over there, may
// have preemptible jobs stopped that
// have run for a slice and are of a lower class or number, or of the same and
// have a lower score: if they hold twice as much of GPUs, lower than 1/1.5 of
// its own, four times, 1/2, and so on. Narrower ones may have a score of up to eight
// times the job's, where it is lower than the job's in the mean over the GPUs that the job
// is to get, of which those that are free count as 0. Where the first may have none stopped, no later one may,
// unless the first ran before. One that goes on after a stop makes room
// for none of its class and number that is no wider, or asks no more than half of the GPUs in
// service that could serve it, until
// it has run for four slices, or for four times as long as before. Nor does any for a preemptible one
// of these that ran before: who was stopped for another waits for an end, so that one stop does not
// lead to the next. While the guard is open, jobs that
// started guarded make no room for others of their class and number, and others
// do for guarded ones whatever the scores. Those with the lowest rank are
// stopped first, and then none of which is not needed, nor any where what is used
// from outside would keep the job off the GPU even then. Where one of them is to be
// warned, or has been, and would run on for more than a tenth of a slice, others
// that go before it and are enough by themselves are stopped as well: a long notice
// neither saves a job nor makes another wait. What is kept for a job
// that goes before counts as in Placement.(With 1.25 for all, jobs of a public
// trace completed 0.5 h later in the mean: contrib/sim.) The score of a running job is that
// with which it would wait: its w is what it had waited when it started, its E the effort that it
// takes now. Effort is how much run time one must expect to give for each job that ends, as
// far as known (Estimate.Effort): of jobs that run for much the same time those that have run take
// less, and stay; of jobs of which some end at once and some run for a day those that have
// run take more, and make room. It goes by the form of the last runs of the kind, which begins as two runs of
// any length alike. While fewer than five jobs of a kind have ended, none makes room for others of the
// same user, size and program, nor do these for it, or none would end: in a sweep whose words differ
// each job is of its own kind.
//
// Forecast. The passes to come are made by these same rules, on copies of the
// machine, of the accounts and of the first 200 waiting jobs, as if nothing new came. They
// are made 19 times: in each of these futures all that runs and waits runs for as
// long as it may, by what is believed of it and its limit, while the planner expects what it would.
// A job is forecast to start where a pass starts it. So quotas, arrays that wait for their own tasks,
// jobs that make room once they have had their slice and come back, and scores that grow apart are in
// it. Jobs of which nothing is known and that have no limit end in none, nor do suspended ones that nothing
// lets go on. Told is the moment from which ten futures are off by the smallest part of the wait, and a
// range: from the earliest future to the latest, a quarter of the wait wider, since nothing is known
// of jobs to come. (Measured: contrib/sim.) One pass is made at each moment at which something ends or comes back, and
// where jobs may be stopped for others at the end of a slice or a sixteenth of the
// time ahead later, whichever is later; 1000 passes (400 of 19 futures) and a year at most. Nothing is forecast of what
// only the load of a GPU keeps waiting, nor of whether the guard opens or closes. With exact run times
// and no arrivals there is one future, and each job starts when foretold where none is preempted.
//
// # Invariants
//
//  1. Capacity: on every GPU the shares given out sum to at most 1000 milli,
//     a job that asks whole GPUs is alone on them, and promised memory fits
//     into what the driver says is free. Jobs that start find a place, and
//     the host memory and CPUs that they count for.
//  2. Gang: a job gets all of its GPUs, distinct ones, or none; a job that
//     names exact GPUs gets exactly these.
//  3. Nothing is placed on a GPU that is not in state OK, or that is reserved
//     for others.
//  4. Work conservation: no job that a plan leaves over, that is at no bound and waits
//     for none of its account, fits into what is left to it: what is free, less, where it would be
//     in the way of a reservation, what that needs. After a plan without
//     reservations, in which nobody waits for another of the account, is carried out, planning
//     again at the same instant places nothing. With some it may, as they are made anew: GPUs that become free
//     later can be kept then, a job that a load keeps waiting can have come to
//     be without GPUs, and a quota or an array can be used up.
//  5. No delay: while jobs end no later than they are counted on, the shadow of the first
//     reservation never moves later but for jobs that go before, and under FIFO
//     with exact run times its job starts at the first shadow it had. That does
//     not hold where a preemptible job that yields to the reserved one starts
//     behind the reservation, as its stay is counted by the slice then, and by
//     its expected end afterwards: on random streams a third of which yielded,
//     43 of 1175 jobs with a reservation came late, by up to 6.8 h. (Counted by
//     the slice throughout, 18 of 1258 came late, by up to 5 min, at 0.3 h of
//     mean completion on the public trace.) Nor does it hold for GPUs that an
//     administrator reserves for others now, nor for further reservations, which
//     move when the first does. Under Policy.Patience what passes a job may move its shadow to the
//     one of late ends, or to the moment from which these do not count for it any more.
//  6. Quotas hold for every account after the plan, and while jobs end no later than expected
//     for the first that one keeps back, by the moment that was found for it.
//  7. The optimised pass equals the plain one of the tests that sorts all jobs.
//  8. A pass that places nothing allocates nothing.
//  9. What is counted of a wait never includes time in which the quotas of the
//     account or its groups let no job of that size start and none of its GPU jobs that waits,
//     but under FIFO; all jobs
//     that differ in nothing but when they came lose the same, and keep their order.
//  10. No job is stopped twice without anybody having gained: between two stops of a job the
//     one for which it was stopped first has ended, or has had its GPUs for a slice. None of
//     the 177 such stops for wider jobs on the workloads of daemon/sim was in vain. (Before a job was owed its start,
//     its own victims went before it where their scores had grown: a tenth to two thirds of these stops
//     were in vain.)
//  11. A job that was stopped after a slice or more runs for four, once it goes on, until one of its class and number
//     has it stopped that is no wider, or asks no more than half of the GPUs in service that could serve it, and has
//     not waited so long as to go first.
//  12. A newcomer's share: a user who comes to a queue that another has flooded gets 45 % of the GPU time
//     of the next two days, a third one 30 %; so does one beside accounts that are away, on a machine
//     that has been used for an hour, or alone in a group beside one of three users. Of users whose shares
//     are 1 and 3 the one gets 22 % at least and the other 72 %.
//  13. On none of the workloads that daemon/sim measures the mean completion in the fair order is more than
//     1.02 times that of submission order with backfill, nor that of jobs that may be stopped where they are alike
//     more than 1.02 times that of others; and a job is stopped less than once in the mean.
//  14. A preemptible job that ran before has none stopped of its class and number that is no narrower, or where it asks
//     no more than half of the GPUs. So for one job that comes to a sweep and asks as much as one of it one is stopped,
//     and no two jobs are ever stopped for each other.
//
// Of all workloads no order is best. The last two are held on those of daemon/sim that disagree, with
// fixed seeds (TestGoals).
package sched

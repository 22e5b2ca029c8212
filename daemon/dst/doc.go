// Package dst runs the whole daemon in a simulated world: loop, committer, executor, sampler and
// lister, core and store run on a systemd, GPUs, a kernel log, a disk and clients that all fail. One
// goroutine runs everything under a virtual clock, and one seed decides everything that happens.
//
// A seed gives a Plan: a list of entries, each of which is a client's request or a fault at a time.
// Which kinds of faults there are differs from seed to seed, so that rare ones meet. The world
// carries the plan out (Run); then all faults stop and the queue must drain. How long a call takes
// is drawn for that call alone, so that leaving an entry out changes little else: a plan that fails
// is shrunk by leaving out entries (Shrink), and the rest is read as a story.
//
// The disk of most runs is a model of package store: a commit is there whole or not at all, and
// after an error nobody knows which. Some runs have a real state file beside it (RunOn). If the
// daemon or the machine dies in the middle of a commit, any of the changed sectors are new and the
// others old, and what is read back must equal the model.
//
// The world judges by what really happens in its units and on its GPUs, not by the daemon's books.
//
// # Invariants, cited by the judge
//
//  1. A job that was acknowledged is on record from then on, with everything that was acknowledged
//     about it.
//  2. A job or array task never has two runs at once, and the command of an attempt begins at most
//     once.
//  3. No GPU, GPU memory or host memory is promised twice among what really runs.
//  4. Nothing is placed on a GPU that is unknown, lost, faulted, paused or drained according to what
//     the daemon was told, nor on a GPU where an ended job still is.
//  5. Every job ends once, and its result is what really happened to its command: no success is
//     reported as a failure, and no failure as a success. Nothing of it runs then.
//  6. Each id is given to one job.
//  7. Each request key gives one job.
//  8. Everything is on record before it is done, and done and on record before it is answered. A
//     unit is collected once its result is on record, or if it was told to stop.
//  9. Within a day after the faults stop every job has ended, every unit is gone and every GPU is
//     free.
//  10. core.Check holds after every step, and a restart would read what the daemon has.
//  11. The same seed does the same, step for step.
//  12. A job is stopped for its use of GPUs only if the site wants that: for memory, if it is over
//     budget, was warned and given its time, and another job's promise is at stake; for idleness, if
//     nothing showed it computing since it was warned.
//  13. When a job is placed, its owner is within the quotas of running jobs, GPUs and GPU-hours, and
//     so are the owner's groups, as far as jobs report who is in them. When a job is submitted, its
//     owner is within the quotas of waiting jobs and bytes.
//  14. The only processes told to end are outside all units, on a GPU that a job of their user had
//     when they began, and only if the site wants that.
//  15. A user is charged for the time for which GPUs were held, whatever the clocks say. That time
//     ends with the job, or when the scheduler learns of its end.
//  16. A job is placed once all its dependencies are met, including those that were added later.
//  17. An update by its owner raises no job's priority, nor does it give more of the machine to a job
//     whose priority an administrator raised.
//  18. A message that a job asked for is owed on record together with the start or end that it is
//     about. It is sent at least once or given up with a reason, and is never recorded as sent if it
//     was not. It arrives more than once only if the machine or the daemon went down, or if the
//     outcome of a try was unknown: a process that knows that it is sent does not send it again. One
//     message of a user is sent at a time, and eight in all.
//  19. A client that lists the jobs and follows the events from the number of that moment has the
//     state of each job, over crashes and restarts. No event comes before what it reports is on
//     record, and the numbers only grow.
//  20. A job's result follows from what was asked: a job that ends on a stop gets the result of that
//     stop's cause, whatever its exit status and whoever saw it. A job that was preempted or requeued
//     does not end by that, nor does a job that left when it was warned and is to run again.
//  21. A client that is told that a job got a signal is told the truth. A job is recorded as warned
//     once its warning has reached it.
package dst

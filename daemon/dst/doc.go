// Package dst runs the whole daemon in a world of its own: the shell with its
// committer, executor, sampler and lister, the core, the store, on a systemd, GPUs,
// a kernel's log, a disk and clients that all fail. One goroutine runs it all
// under a virtual clock, and one seed decides everything that happens.
//
// A seed gives a Plan: a list of entries, each of which is a request of a client
// or a fault, at a time. Which kinds of faults there are differs from seed to seed,
// so that rare ones meet. The world carries the plan out (Run), then all faults
// stop and the queue must drain. What takes time takes a time drawn for that call
// alone, so that leaving an entry out changes little else: a plan that fails is
// shrunk by leaving out entries (Shrink), and the rest is read as a story.
//
// The disk of most runs is a model of package store: a commit is there whole or
// not at all, and after an error nobody knows which. Some run on a real state file
// beside it (RunOn): where the daemon or the machine dies in the middle of a commit,
// any of the sectors that changed are new and the others old, and what is read
// again must be what the model has.
//
// The world judges by what really happens in its units and on its GPUs, not by
// the daemon's own books. Invariants, cited by the judge:
//
//  1. A job that was acknowledged is on record from then on, and everything that
//     was acknowledged of it.
//  2. A job, or task of an array, never has two runs at once, and the command of an attempt begins at
//     most once.
//  3. No GPU, nothing of its memory and nothing of the host's memory is promised
//     twice among what really runs.
//  4. Nothing is placed on a GPU that is unknown, lost, sick, paused or drained
//     by what the daemon was told, nor on one where an ended job still is.
//  5. Every job has one end and never leaves it, and its end is what really
//     happened to its command: nobody is told about a failure that was none, or of a
//     success that was none. Nothing of it runs then.
//  6. An id is given to one job.
//  7. A request key gives one job.
//  8. What is done was on record before, and what is answered was done and on
//     record before; a unit is collected when its result is on record, or when it
//     was told to stop.
//  9. When the faults stop, every job comes to its end, every unit goes and every
//     GPU is free, within a day.
//  10. core.Check holds after every step, and what the daemon would read at a
//     restart is what it has.
//  11. The same seed does the same, step for step.
//  12. A job is stopped for what it uses of its GPUs only where the site wants
//     that: for memory, when it is over its budget, was warned and given its time,
//     and another one's promise is at stake; for idleness, when nothing showed it
//     computing since it was warned.
//  13. At the placement of a job its owner is within the quota of running jobs,
//     GPUs and hours of GPUs, and the owner's groups are within theirs, as far as
//     jobs tell who is in them; and at its submission the owner is within those of
//     waiting jobs and of bytes.
//  14. No process is told to end but one that is outside of all units on a GPU that
//     its user's job had when it began, and only where the site wants that.
//  15. What a user is charged for is the time for which GPUs were held, whatever
//     the clocks say. It may end with the job, or when the
//     scheduler learns of that.
//  16. A job is placed when all that it is to wait for has come, also what it was
//     told later.
//  17. An update by its owner gives a job no priority, nor more of the machine with
//     one that an administrator gave it.
//  18. A message that a job asked for is owed on record with the start or end that it is
//     about, is sent at least once, or given up with a reason, and is never recorded as
//     sent when it was not. It comes more than once only where the machine or the daemon
//     went down, or nobody knew what became of a try: a process that was told that it is
//     sent does not send it again. One of a user's is sent at a time, of all eight.
//  19. Whoever lists the jobs and follows the events from the number at that time, over
//     crashes and restarts, has the state of each job. No event comes before what it
//     tells is on record, and the numbers only grow.
//  20. How a job ended is judged by what was asked of it: one that answers a stop has what
//     the stop was for, whatever its exit status, and whoever was there to see it. A job
//     that was stopped for another's sake, or sent back to the queue, does not end by that,
//     nor does one end that left when it was warned and is to run again.
//  21. Who is told that a job got a signal is told the truth, and a job is on record as
//     warned when its warning has reached it.
package dst
